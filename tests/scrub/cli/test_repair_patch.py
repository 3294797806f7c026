# SPDX-License-Identifier: Apache-2.0
"""`scrub repair table --patch`, as typed: what is written for stores that are only read."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from repair.patch.files import file_name
from scrub.app import check
from scrub.app.repairing.patch import write_patch
from scrub.model.defect import DefectKind
from scrub.model.repair import RepairRequest
from tests.builders import entries_of, orders, parquet_lake, write_catalog
from tests.postgres_server import Database
from tests.scrub.cli.exit_codes import exit_code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Scrub = Callable[..., int]
ROWS = 100
KEEP = "__scrub_keep"


def broken(entries: pa.Table) -> pa.Table:
    """An entry less, one too many, one wrong, and one there twice."""
    rows = entries.to_pylist()
    twice = next(row for row in rows if row["id"] == 7)
    kept = [row for row in rows if row["id"] != 17]
    for row in kept:
        row["status"] = "it's \\ wrong" if row["id"] == 42 else row["status"]
    strange = {"customer_id": 5, "id": 1005, "status": None}
    return pa.Table.from_pylist([*kept, strange, dict(twice)], schema=entries.schema)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    rows = orders(ROWS)
    parquet_lake(tmp_path, rows, broken(entries_of(rows)), files=1)
    return tmp_path


@pytest.fixture
def scrub(lake: Path, capsys: pytest.CaptureFixture[str]) -> Scrub:
    def run(command: str, *arguments: object) -> int:
        return exit_code(*command.split(), *arguments, "--catalog", lake / "scrub.yaml")

    return run


DEFECTS: list[dict[str, Any]] = [
    {
        "kind": DefectKind.MISSING,
        "primary_key": {"id": 17},
        "expected": {"customer_id": 17, "id": 17, "status": "sent"},
    },
    {
        "kind": DefectKind.DANGLING,
        "primary_key": {"id": 1005},
        "actual": {"customer_id": 5, "id": 1005, "status": None},
    },
    {
        "kind": DefectKind.WRONG_STORED_VALUE,
        "primary_key": {"id": 42},
        "expected": {"customer_id": 42, "id": 42, "status": "open"},
        "actual": {"customer_id": 42, "id": 42, "status": "it's \\ wrong"},
    },
    {
        "kind": DefectKind.DUPLICATE_ENTRY,
        "primary_key": {"id": 7},
        "expected": {"customer_id": 7, "id": 7, "status": "paid"},
        "actual": {"customer_id": 7, "id": 7, "status": "paid"},
    },
]


@pytest.fixture
def result(lake: Path) -> Path:
    """As `scrub check --format json` writes it."""
    told = [{"table": "orders", "index": "by_customer", **defect} for defect in DEFECTS]
    checks = [{"check": "index", "index": "by_customer", "rows": ROWS}]
    path = lake / "result.json"
    tables = [{"table": "orders", "checks": checks}]
    path.write_text(json.dumps({"schema_version": 1, "tables": tables, "defects": told}))
    return path


def patched(index: pa.Table, patch: Path) -> pa.Table:
    """What docs/repair.md says to do with the two files."""
    deletes = pq.read_table(patch / "by_customer.delete.parquet")
    gone = {
        tuple(v for name, v in row.items() if name != KEEP): row[KEEP]
        for row in deletes.to_pylist()
    }
    kept: Counter[tuple[Any, ...]] = Counter()
    rows = []
    for row in index.to_pylist():
        entry = tuple(row.values())
        kept[entry] += 1
        if entry not in gone or kept[entry] <= gone[entry]:
            rows.append(row)
    inserts = pq.read_table(patch / "by_customer.insert.parquet")
    assert inserts.schema.equals(index.schema)
    return pa.concat_tables([pa.Table.from_pylist(rows, schema=index.schema), inserts])


def test_a_patch_of_a_parquet_index_makes_it_right_when_it_is_applied(
    lake: Path, scrub: Scrub, result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lake / "orders__by_customer" / "000.parquet"
    before = file.read_bytes()
    patch = lake / "patch"
    assert scrub("repair table orders --from", result, "--patch", patch) == 0
    told = capsys.readouterr().out
    assert f"nothing was changed; a patch of 4 changes is in {patch}. To apply it, " in told
    assert file.read_bytes() == before
    fixed = patched(pq.read_table(file), patch)
    order = [("id", "ascending")]
    assert fixed.sort_by(order).equals(entries_of(orders(ROWS)).sort_by(order))
    assert sorted(path.name for path in patch.iterdir()) == [
        "by_customer.delete.parquet",
        "by_customer.insert.parquet",
        "patch.json",
    ]
    manifest = json.loads((patch / "patch.json").read_text())
    assert manifest["from"] == {"file": str(result)}
    (index,) = manifest["indexes"]
    assert index["insert"] == {"file": "by_customer.insert.parquet", "entries": 2}
    assert index["delete"] == {"file": "by_customer.delete.parquet", "entries": 3}
    assert index["changes"] == {"put": 1, "delete": 1, "replace": 1, "keep_one": 1}
    assert index["sql"] is None
    assert "no SQL" in index["sql_reason"]


def test_a_preview_says_that_the_store_is_only_read_and_what_to_type(
    scrub: Scrub, result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scrub("repair table orders --from", result) == 1
    out = capsys.readouterr().out
    assert "4 changes would be made" in out
    assert "which is only read" in out
    assert "--patch DIR" in out
    assert scrub("repair table orders --execute --from", result) == 2
    assert "--patch DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--execute"], "--execute"),
        (["--verify"], "--verify"),
    ],
)
def test_a_patch_does_not_go_with_what_writes(
    lake: Path,
    scrub: Scrub,
    result: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    what: str,
) -> None:
    assert scrub("repair table orders --from", result, "--patch", lake / "p", *arguments) == 2
    assert what in capsys.readouterr().err
    assert not (lake / "p").exists()


def test_what_is_already_there_is_never_overwritten(
    lake: Path, scrub: Scrub, result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "full").mkdir()
    (lake / "full" / "patch.json").write_text("mine")
    for place in ("full", "result.json", "no such/patch"):
        assert scrub("repair table orders --from", result, "--patch", lake / place) == 2
        assert place in capsys.readouterr().err
    assert (lake / "full" / "patch.json").read_text() == "mine"
    (lake / "empty").mkdir()
    assert scrub("repair table orders --from", result, "--patch", lake / "empty") == 0
    assert (lake / "empty" / "patch.json").exists()
    assert not list(lake.glob(".*unfinished"))


@pytest.mark.parametrize("limit", ["--max-changes=3", "--max-fraction=0.03"])
def test_over_a_limit_no_patch_is_written(
    lake: Path, scrub: Scrub, result: Path, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scrub("repair table orders --from", result, "--patch", lake / "p", limit) == 2
    out = capsys.readouterr().out
    assert "nothing was changed: 4 changes " in out
    assert f"are more than {limit.replace('=', ' ')}" in out or "4.0% of its 100 entries" in out
    assert not (lake / "p").exists()


def test_only_the_chosen_kinds_are_in_a_patch(lake: Path, scrub: Scrub, result: Path) -> None:
    kind = ["--kind", "missing_index_entry"]
    assert scrub("repair table orders --from", result, "--patch", lake / "p", *kind) == 0
    assert pq.read_table(lake / "p" / "by_customer.insert.parquet").num_rows == 1
    assert pq.read_table(lake / "p" / "by_customer.delete.parquet").num_rows == 0


def test_without_anything_to_do_no_patch_is_written(lake: Path, scrub: Scrub, result: Path) -> None:
    kind = ["--kind", "unique_violation"]
    assert scrub("repair table orders --from", result, "--patch", lake / "p", *kind) == 0
    assert not (lake / "p").exists()


def test_what_is_refused_is_told_and_not_in_the_patch(
    lake: Path, scrub: Scrub, result: Path
) -> None:
    document = json.loads(result.read_text())
    document["defects"].append({**document["defects"][0], "kind": DefectKind.UNIQUE_VIOLATION})
    result.write_text(json.dumps(document))
    assert scrub("repair table orders --from", result, "--patch", lake / "p") == 1
    manifest = json.loads((lake / "p" / "patch.json").read_text())
    refused = [refusal["defect_kind"] for refusal in manifest["refusals"]]
    assert refused == ["missing_secondary_index", "unique_violation"], "its place is taken"


def test_a_share_of_unknown_rows_is_refused_unless_any_share_is_meant(
    lake: Path, scrub: Scrub, result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of --all-defects, whose lines say nothing about the table."""
    lines = [{"type": "defect", **one} for one in json.loads(result.read_text())["defects"]]
    result.write_text("\n".join(map(json.dumps, lines)))
    assert scrub("repair table orders --from", result, "--patch", lake / "p") == 2
    out = capsys.readouterr().out
    assert "does not say how large the index is" in out
    assert "--max-fraction 1" in out
    assert not (lake / "p").exists()
    given = ["--patch", lake / "p", "--max-fraction", "1"]
    assert scrub("repair table orders --from", result, *given) == 0


@pytest.mark.parametrize("table_store", ["lake", "shop"])
def test_an_index_in_a_database_gets_sql_wherever_its_table_is(
    lake: Path, scrub: Scrub, result: Path, database: Database, table_store: str
) -> None:
    names = "customer_id bigint, id bigint, status text"
    literals = [
        ", ".join("NULL" if v is None else "'" + str(v).replace("'", "''") + "'" for v in row)
        for row in zip(*broken(entries_of(orders(ROWS))).to_pydict().values(), strict=True)
    ]
    database.run(
        f"CREATE TABLE orders__by_customer ({names})",
        f"INSERT INTO orders__by_customer VALUES {', '.join(f'({one})' for one in literals)}",
        f"CREATE TABLE orders ({names})",
        "INSERT INTO orders SELECT i % 100, i, (ARRAY['open', 'paid', 'sent'])[1 + i % 3] "
        f"FROM generate_series(0, {ROWS - 1}) AS i",
    )
    catalog = json.loads((lake / "scrub.yaml").read_text())
    catalog["stores"]["shop"] = {"kind": "postgres", "url": database.url}
    catalog["tables"]["orders"]["store"] = table_store
    catalog["tables"]["orders"]["indexes"]["by_customer"]["store"] = "shop"
    (lake / "scrub.yaml").write_text(json.dumps(catalog))

    assert scrub("repair table orders --from", result, "--patch", lake / "p") == 0
    script = (lake / "p" / "by_customer.sql").read_text(encoding="utf-8")
    assert ("The table is not in this database" in script) is (table_store == "lake")
    database.run(script)
    left = "(TABLE orders__by_customer EXCEPT ALL TABLE orders) UNION ALL "
    left += "(TABLE orders EXCEPT ALL TABLE orders__by_customer)"
    assert database.rows(left) == []


def test_a_patch_that_cannot_be_finished_leaves_nothing_behind(
    lake: Path, scrub: Scrub, result: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = json.loads((lake / "scrub.yaml").read_text())
    catalog["stores"]["shop"] = {"kind": "postgres", "url": database.url}
    catalog["tables"]["orders"]["indexes"]["by_customer"]["store"] = "shop"
    (lake / "scrub.yaml").write_text(json.dumps(catalog))
    before = sorted(lake.iterdir())
    assert scrub("repair table orders --from", result, "--patch", lake / "p") == 2
    assert "there is no relation orders__by_customer" in capsys.readouterr().err
    assert sorted(lake.iterdir()) == before


def test_files_are_called_after_their_index_whatever_it_is_called() -> None:
    names = ["by_customer", "../../etc/x", ".hidden", "50%", "größe: a|b", "a/b", "a%2Fb"]
    files = [file_name(name, "sql") for name in names]
    assert files[0] == "by_customer.sql"
    assert len(set(files)) == len(names)
    assert all(Path(name).name == name and not name.startswith(".") for name in files)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["delta", "postgres"])
def test_lost_rows_of_a_table_in_another_store_are_told_from_rows_that_are_there(
    lake: Path, scrub: Scrub, result: Path, database: Database, kind: str
) -> None:
    write_deltalake(str(lake / "delta" / "orders"), orders(ROWS))
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders VALUES (5, 5, 'sent')",
    )
    catalog = json.loads((lake / "scrub.yaml").read_text())
    catalog["stores"]["other"] = {
        "delta": {"kind": "delta", "path": "delta"},
        "postgres": {"kind": "postgres", "url": database.url},
    }[kind]
    indexes = {name: {**index, "store": "lake"} for name, index in TWO_INDEXES.items()}
    catalog["tables"]["orders"] |= {"store": "other", "indexes": indexes}
    (lake / "scrub.yaml").write_text(json.dumps(catalog))
    document = json.loads(result.read_text())
    document["defects"] = [
        {
            "kind": DefectKind.DANGLING,
            "table": "orders",
            "index": index,
            "primary_key": {"id": key},
            "actual": {"status": "x", "id": key} | more,
        }
        for key in (5, 2000)
        for index, more in (("by_customer", {"customer_id": 9}), ("by_status", {}))
    ]
    result.write_text(json.dumps(document))
    assert scrub("repair table orders --from", result, "--patch", lake / "p") == 1
    manifest = json.loads((lake / "p" / "patch.json").read_text())
    assert [row["primary_key"] for row in manifest["lost_rows"]] == [{"id": 2000}]
    for name in TWO_INDEXES:
        deletes = pq.read_table(lake / "p" / f"{name}.delete.parquet")
        assert deletes.column("id").to_pylist() == [5]


TWO_INDEXES = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "by_status": {"columns": ["status"]},
}


@pytest.mark.spark
def test_a_parquet_lake_is_checked_patched_and_clean_and_lost_rows_are_kept(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    rows = orders(ROWS)
    catalog = parquet_lake(tmp_path, rows, broken(entries_of(rows)), files=1)
    store = {"kind": "spark", "format": "parquet", "path": "."}
    write_catalog(tmp_path, indexes=TWO_INDEXES, store=store)
    by_status = entries_of(rows, ("status", "id"))
    more = pa.table({"status": ["lost", "open"], "id": [2000, 5]})
    (tmp_path / "orders__by_status").mkdir()
    pq.write_table(
        pa.concat_tables([by_status, more]), tmp_path / "orders__by_status" / "0.parquet"
    )
    index = tmp_path / "orders__by_customer"
    extra = pa.table({"customer_id": [9, 9], "id": [2000, 5], "status": ["lost", "open"]})
    pq.write_table(extra, index / "more.parquet")

    request = RepairRequest(table="orders", catalog=catalog, max_fraction=0.2)
    report = write_patch(request, tmp_path / "patch", spark=spark)
    (lost,) = report.plan.lost_rows
    assert lost.primary_key == {"id": 2000}
    assert 5 in [a.primary_key["id"] for a in report.plan.actions if a.primary_key], (
        "a row that is there was not lost, whatever two indexes say of it"
    )
    fixed = patched(pq.read_table(index), tmp_path / "patch")
    for file in index.iterdir():
        file.unlink()
    pq.write_table(fixed, index / "fixed.parquet")
    after = check("orders", catalog=catalog, indexes=["by_customer"], spark=spark)
    assert [defect.primary_key for defect in after.defects] == [{"id": 2000}]


DERBY = """
    CREATE TABLE orders ("id" bigint PRIMARY KEY, "customer_id" bigint, "status" varchar(50),
                         "amount" decimal(10,2), "weight" double, "seen" date);
    CREATE TABLE by_customer ("customer_id" bigint, "id" bigint, "status" varchar(50),
                              "amount" decimal(10,2), "weight" double, "seen" date);
    INSERT INTO orders VALUES (1, 10, 'it''s', 1.50, 0.1, DATE('2024-02-29')),
        (2, NULL, 'a\\', -0.01, -1e300, NULL), (3, 30, 'c', NULL, 3.0, NULL),
        (4, 4, 'd', 4, 4, NULL);
    INSERT INTO by_customer VALUES (30, 3, 'wrong', NULL, 3.0, NULL), (99, 9, 'x', 0, 0, NULL),
        (4, 4, 'd', 4, 4, NULL)
"""
DERBY_COLUMNS = {
    "id": "bigint",
    "customer_id": "bigint",
    "status": "string",
    "amount": "decimal(10,2)",
    "weight": "double",
    "seen": "date",
}


def derby(spark: "SparkSession", url: str, script: str, query: str = "VALUES 1") -> list[str]:
    """Run a script in one transaction, statement by statement, and ask a query."""
    connection = spark._jvm.java.sql.DriverManager.getConnection(url)  # type: ignore[union-attr]
    try:
        connection.setAutoCommit(False)
        statement = connection.createStatement()
        lines = [line for line in script.splitlines() if not line.startswith("--")]
        for one in filter(str.strip, "\n".join(lines).removesuffix("COMMIT;").split(";")):
            statement.execute(one)
        connection.commit()
        found, rows = statement.executeQuery(query), []
        while found.next():
            rows.append(found.getString(1))
        return rows
    finally:
        connection.rollback()
        connection.close()


@pytest.mark.spark
def test_a_patch_behind_jdbc_is_sql_that_its_database_runs(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    url = f"jdbc:derby:{tmp_path}/derby;create=true"
    derby(spark, url, DERBY)
    stored = ["status", "amount", "weight", "seen"]
    index = {"columns": ["customer_id"], "storing": stored, "relation": "APP.BY_CUSTOMER"}
    catalog = write_catalog(
        tmp_path,
        {"by_customer": index},
        DERBY_COLUMNS,
        {"kind": "spark", "format": "jdbc", "options": {"url": url}},  # type: ignore[dict-item]
    )
    defects = [
        {"kind": DefectKind.MISSING, "expected": [10, 1, "it's", "1.50", 0.1, "2024-02-29"]},
        {"kind": DefectKind.MISSING, "expected": [None, 2, "a\\", "-0.01", -1e300, None]},
        {
            "kind": DefectKind.WRONG_STORED_VALUE,
            "expected": [30, 3, "c", None, 3.0, None],
            "actual": [30, 3, "wrong", None, 3.0, None],
        },
        {"kind": DefectKind.DANGLING, "actual": [99, 9, "x", "0.00", 0.0, None]},
        {"kind": DefectKind.MISSING, "expected": [5, 5, "NaN", None, "NaN", None]},
    ]
    names = ["customer_id", "id", *stored]
    result = tmp_path / "result.jsonl"
    with result.open("w") as file:
        for defect in defects:
            told = {n: dict(zip(names, v, strict=True)) for n, v in defect.items() if n != "kind"}
            entry = next(iter(told.values()))
            told |= {"kind": defect["kind"], "primary_key": {"id": entry["id"]}}
            line = {"type": "defect", "table": "orders", "index": "by_customer", **told}
            file.write(json.dumps(line) + "\n")
    request = RepairRequest(table="orders", catalog=catalog, max_fraction=1, from_file=result)
    report = write_patch(request, tmp_path / "patch")
    assert report.patch is not None
    assert list(report.patch.indexes[0].left_out_of_sql.values()) == [
        "the database has no number that is not finite"
    ]
    script = (tmp_path / "patch" / "by_customer.sql").read_text()
    derby(spark, url, 'UPDATE orders SET "weight" = 2 WHERE "id" = 1')
    there = 'SELECT "id" FROM by_customer ORDER BY 1'
    assert derby(spark, url, script, there) == ["2", "3", "4"], "row 1 has changed meanwhile"
    derby(spark, url, 'UPDATE orders SET "weight" = 0.1 WHERE "id" = 1')
    assert derby(spark, url, script, there) == ["1", "2", "3", "4"]
    assert derby(spark, url, script, there) == ["1", "2", "3", "4"], "run again"
    columns = ", ".join(f'"{name}"' for name in names)
    left = f"SELECT {columns} FROM orders EXCEPT SELECT {columns} FROM by_customer"
    assert derby(spark, url, "", f"SELECT COUNT(*) FROM ({left}) AS t") == ["0"]
