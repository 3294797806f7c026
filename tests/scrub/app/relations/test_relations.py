# SPDX-License-Identifier: Apache-2.0
"""`catalog validate --relations`: every mistake that opening relations reveals, at its line."""

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from psycopg import conninfo

from scrub.app.relations.validating import validate_relations, validate_without_spark
from scrub.cli import main
from tests.postgres_server import Database

ROWS = pa.table({"id": [1, 2], "email": ["a", "b"], "amount": pa.array([1, 2], pa.int32())})
CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: ./lake}
tables:
  orders:
    store: lake
    columns:
      id: {type: bigint, nullable: false}
      email: {type: string}
      amount: {type: int}
    primary_key: [id]
    indexes:
      by_email:
        columns:
          - email
          - {expr: "amount > 1", as: large}
        storing: [amount]
"""


def told(path: Path) -> list[str]:
    return [f"{one.line}: {one.message}" for one in validate_without_spark(path).found]


def hints(path: Path) -> list[str | None]:
    return [one.hint for one in validate_without_spark(path).found]


def entries(*names: str) -> pa.Table:
    return ROWS.append_column("large", pa.array([False, True])).select(list(names))


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    write_deltalake(tmp_path / "lake/orders", ROWS)
    write_deltalake(tmp_path / "lake/orders__by_email", entries("email", "large", "id", "amount"))
    path = tmp_path / "scrub.yaml"
    path.write_text(CATALOG)
    return path


def rewrite(relation: Path, table: pa.Table) -> None:
    write_deltalake(relation, table, mode="overwrite", schema_mode="overwrite")


def test_what_is_as_described_is_opened_and_nothing_is_told(catalog: Path) -> None:
    report = validate_without_spark(catalog)
    assert (report.opened, report.found, report.by_spark) == (2, (), [])


def test_every_column_is_told_at_its_own_line(catalog: Path) -> None:
    catalog.write_text(
        CATALOG.replace("email: {type: string}", "emial: {type: string}")
        .replace("- email\n", "- emial\n")
        .replace("amount: {type: int}", "amount: {type: string}")
        .replace("amount > 1", "id > 1")
    )
    rewrite(catalog.parent / "lake/orders__by_email", entries("email", "id", "amount"))
    assert told(catalog) == [
        "9: table orders: relation orders has no column emial; did you mean email?",
        "10: table orders: column amount of orders is stored as int, the catalog says string",
        "15: index orders.by_email: relation orders__by_email has no column emial; did you mean "
        "email?",
        "16: index orders.by_email: relation orders__by_email has no column large; known columns: "
        "amount, email, id",
        "17: index orders.by_email: column amount of orders__by_email is stored as int, the "
        "catalog says string",
    ]
    assert hints(catalog)[1] == "write type: int"
    assert hints(catalog)[4] == (
        "correct relation orders__by_email, or the type of the column in orders"
    )


def test_an_index_without_key_columns_is_told(catalog: Path) -> None:
    rewrite(catalog.parent / "lake/orders__by_email", entries("email", "large", "amount"))
    assert told(catalog) == [
        "13: index orders.by_email: relation orders__by_email has no column id; known columns: "
        "amount, email, large"
    ]


def test_an_index_that_is_not_built_yet_says_how_to_build_it(catalog: Path) -> None:
    catalog.write_text(CATALOG + "        relation: elsewhere/by_email\n")
    (line,) = told(catalog)
    assert line.startswith("18: index by_email of table orders is not there: there is no Delta")
    command = f"scrub backfill run orders by_email --execute --catalog {catalog}"
    assert hints(catalog) == [f"build it with: {command}"]


def test_a_missing_parent_of_a_foreign_key_is_told(catalog: Path) -> None:
    parent = """\
  customers:
    store: lake
    columns: {id: {type: bigint, nullable: false}}
    primary_key: [id]
"""
    keys = "    foreign_keys: {buyer: {columns: [id], references: customers}}\n"
    catalog.write_text(CATALOG.replace("    indexes:\n", f"{keys}    indexes:\n") + parent)
    (line,) = told(catalog)
    assert line.startswith("19: there is no Delta table ")
    assert line.endswith("/lake/customers")


@pytest.mark.parametrize(
    ("reflects", "line"),
    [
        (
            "{column: shown}",
            "`reflects` of index orders.by_email: relation orders__by_email has no",
        ),
        ("7", "Delta table orders has no version 7 (any more)"),
    ],
)
def test_what_an_index_reflects_must_be_there(catalog: Path, reflects: str, line: str) -> None:
    catalog.write_text(CATALOG + f"        reflects: {reflects}\n")
    (found,) = told(catalog)
    assert found.startswith(f"18: {line}")


def test_a_directory_that_is_not_there_is_told_once_at_its_store(catalog: Path) -> None:
    catalog.write_text(CATALOG.replace("./lake", "./lak"))
    (line,) = told(catalog)
    assert line == f"3: there is no directory {catalog.parent}/lak"


def test_pairs_must_be_in_two_binary_columns(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    pq.write_table(pa.table({"kye": [b"1"], "value": ["x"]}), tmp_path / "orders/0.parquet")
    path = tmp_path / "scrub.yaml"
    path.write_text(
        """\
version: 1
stores: {pairs: {kind: spark, format: parquet, path: .}}
tables:
  orders:
    store: pairs
    relation: orders
    layout: kv
    table_id: 1
    columns: {id: {type: bigint, nullable: false}}
    primary_key: [id]
    indexes: {by_id: {columns: [id], index_id: 2}}
"""
    )
    assert told(path) == [
        "6: table orders: relation orders has no column key; did you mean kye?",
        "6: table orders: column value of orders is stored as string, the catalog says binary",
    ]
    assert hints(path)[1] == "pairs are in columns `key` and `value`, both binary"


OF_SPARK = """\
version: 1
stores: {texts: {kind: spark, format: csv, path: .}}
tables:
  orders:
    store: texts
    columns: {id: {type: bigint, nullable: false}, email: {type: string}}
    primary_key: [id]
"""


def csv_catalog(directory: Path) -> Path:
    (directory / "orders").mkdir()
    (directory / "orders/0.csv").write_text("id,mail\n1,a\n")
    path = directory / "scrub.yaml"
    path.write_text(OF_SPARK)
    return path


def test_what_only_spark_can_describe_is_left_for_later(tmp_path: Path) -> None:
    assert told(csv_catalog(tmp_path)) == ["4: not looked at: only Spark can describe it"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_describes_what_nothing_else_can_and_is_named_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = csv_catalog(tmp_path)
    report = validate_relations(path)
    assert [f"{one.line}: {one.message}" for one in report.found] == [
        "6: table orders: relation orders has no column email; did you mean mail?"
    ]
    assert report.by_spark == ["orders"]
    assert main.run(["catalog", "validate", "--relations", "--catalog", str(path)]) == 2
    assert "Spark was started to describe: orders\n" in capsys.readouterr().err


def test_the_command_lists_everything_and_starts_no_jvm(catalog: Path) -> None:
    program = (
        "import sys\nfrom scrub.cli.main import run\n"
        "code = run(['catalog', 'validate', '--relations'])\n"
        "from pyspark import SparkContext\n"
        "print(code, SparkContext._gateway)\n"
    )

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=catalog.parent
        )

    assert run().stdout == "scrub.yaml: 1 table, 1 index, 2 relations opened, no mistakes\n0 None\n"
    rewrite(catalog.parent / "lake/orders__by_email", entries("email", "id", "amount"))
    done = run()
    assert done.stdout == "2 None\n"
    assert done.stderr.startswith(
        "error: scrub.yaml:16: index orders.by_email: relation orders__by_email has no column large"
    )


# PostgreSQL

IN_DATABASE = """\
version: 1
stores:
  shop:
    kind: postgres
    url: "URL"
tables:
  orders:
    store: shop
    columns:
      id: {type: bigint, nullable: false}
      email: {type: string}
      place: {type: string}
    primary_key: [id]
    indexes:
      by_email: {columns: [email]}
      by_low:
        dialect: postgres
        columns: [{expr: "lowre(email)", as: low, type: string}]
      own_one: {own: true, relation: orders_mail}
  secret:
    store: shop
    columns: {id: {type: bigint, nullable: false}}
    primary_key: [id]
"""


def shop(database: Database, tmp_path: Path, url: str | None = None) -> Path:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, email text, place point)",
        "CREATE TABLE orders__by_email (email text, id bigint)",
        "CREATE TABLE orders__by_low (low text, id bigint)",
        "CREATE INDEX orders_email ON orders (email)",
        "CREATE TABLE secret (id bigint PRIMARY KEY)",
    )
    path = tmp_path / "scrub.yaml"
    path.write_text(IN_DATABASE.replace("URL", url or database.url))
    return path


def starts(found: Sequence[str], *beginnings: str) -> None:
    assert len(found) == len(beginnings), found
    for line, beginning in zip(found, beginnings, strict=True):
        assert line.startswith(beginning), line


def test_a_database_is_asked_for_everything_at_once(database: Database, tmp_path: Path) -> None:
    path = shop(database, tmp_path)
    path.write_text(
        path.read_text().replace("place: {type", "emial: {type: string}\n      place: {type")
    )
    starts(
        told(path),
        "7: public.orders: column place is of type point, which cannot be compared",
        "12: table orders: relation orders has no column emial; did you mean email?",
        "20: there is no index orders_mail in schema public",
    )
    path.write_text(
        path.read_text()
        .replace("      emial: {type: string}\n", "")
        .replace("      place: {type: string}\n", "")
    )
    starts(
        told(path),
        "15: public.orders: the database does not understand `lowre(email)`",
        "18: there is no index orders_mail in schema public",
    )
    assert "did you mean orders_email?" in hints(path)


def test_a_relation_that_the_role_may_not_read_is_a_mistake(
    database: Database, tmp_path: Path
) -> None:
    role = f"r{uuid.uuid4().hex[:8]}"
    path = shop(database, tmp_path, conninfo.make_conninfo(database.url, user=role))
    path.write_text(
        path.read_text()
        .replace("orders_mail", "orders_email")
        .replace("lowre", "lower")
        .replace("      place: {type: string}\n", "")
    )
    database.run(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT (id) ON orders TO {role}",
        f"GRANT SELECT ON orders__by_email, orders__by_low TO {role}",
    )
    try:
        report = validate_without_spark(path)
        starts(
            [f"{one.line}: {one.message}" for one in report.mistakes],
            "7: no permission to read email of public.orders",
            "18: no permission to read email of orders, which own_one needs",
            "19: public.secret: permission denied for table secret",
        )
        assert [one.hint for one in report.mistakes] == [
            'GRANT SELECT ON "public"."orders" TO the role that scrub connects as',
            f'GRANT SELECT ON "public"."orders" TO "{role}"',
            'GRANT SELECT ON "public"."secret" TO the role that scrub connects as',
        ]
        assert main.run(["catalog", "validate", "--relations", "--catalog", str(path)]) == 2
    finally:
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_database_that_does_not_answer_is_told_once_and_may_answer_next_time(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = conninfo.make_conninfo(database.url, dbname="not_there")
    path = shop(database, tmp_path, nobody)
    starts(told(path), "5: not looked at: no connection to PostgreSQL: ")
    assert main.run(["catalog", "validate", "--relations", "--catalog", str(path)]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error: {path}:5: not looked at: no connection to PostgreSQL" in shown.err


# Rights on files

AS_NOBODY = """
import os, sys
from pathlib import Path
from scrub.app.relations.validating import validate_without_spark
validate_without_spark(Path(sys.argv[1]))  # the interpreter's own files may be root's
if os.geteuid() == 0:
    os.setuid(65534)
for one in validate_without_spark(Path(sys.argv[1])).mistakes:
    print(f"{one.line}: {one.message}")
"""


def as_nobody(path: Path) -> list[str]:
    """What a user other than root is told."""
    for directory in path.parents:  # pytest keeps its directories to itself
        if directory == Path(tempfile.gettempdir()).resolve():
            break
        directory.chmod(0o755)
    command = [sys.executable, "-c", AS_NOBODY, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_files_and_directories_that_may_not_be_read_are_named(catalog: Path) -> None:
    (file,) = (catalog.parent / "lake/orders").glob("*.parquet")
    file.chmod(0)
    starts(as_nobody(catalog), f"5: no permission to read files of orders: {file}")
    file.chmod(0o644)
    (catalog.parent / "lake/orders__by_email/_delta_log").chmod(0)
    starts(as_nobody(catalog), "13: Delta log of orders__by_email: ")
    (catalog.parent / "lake/orders__by_email/_delta_log").chmod(0o755)
    (catalog.parent / "lake").chmod(0o700 if os.geteuid() == 0 else 0)
    starts(as_nobody(catalog), f"3: no permission to read {catalog.parent}/lake")
    (catalog.parent / "lake").chmod(0o755)
