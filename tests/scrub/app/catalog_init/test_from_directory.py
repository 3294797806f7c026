# SPDX-License-Identifier: Apache-2.0
"""A first catalog is written from real Delta and Parquet tables, and loads without a mistake."""

import os
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.app.catalog_init.from_directory import InitResult, init_catalog
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.names import problem_of
from scrub.catalog.write import Proposal, ProposedTable, render_catalog
from scrub.errors import CatalogError, UsageError
from scrub.model.table import Column, EntryColumn, Index, Nulls, Store, Table
from scrub.model.types import parse_type
from scrub.stores.delta.journal import JOURNAL

ROWS = 300
ORDERS = pa.table(
    {
        "day": [f"2024-01-{row % 3 + 1:02}" for row in range(ROWS)],
        "id": pa.array(range(ROWS), pa.int64()),
        "customer_id": pa.array([row % 7 for row in range(ROWS)], pa.int32()),
        "email": [f"Person{row}@example.org" for row in range(ROWS)],
        "status": ["open" if row % 2 else "closed" for row in range(ROWS)],
        "tags": [["a"]] * ROWS,
    },
    schema=pa.schema(
        [
            ("day", pa.string()),
            pa.field("id", pa.int64(), nullable=False),
            ("customer_id", pa.int32()),
            ("email", pa.string()),
            ("status", pa.string()),
            ("tags", pa.list_(pa.string())),
        ]
    ),
)
LOWER = [email.lower() for email in ORDERS["email"].to_pylist()]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def delta(lake: Path, name: str, table: pa.Table, **options: object) -> None:
    (lake / name).mkdir(parents=True)
    write_deltalake(str(lake / name), table, **options)


def parquet(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def init(lake: Path) -> tuple[InitResult, Catalog, str]:
    path = lake.parent / "scrub.yaml"
    result = init_catalog(lake, path)
    return result, load_catalog(path), path.read_text()


def test_columns_nullability_partitions_and_key_come_from_the_table(lake: Path) -> None:
    delta(lake, "orders", ORDERS, partition_by=["day"])
    result, catalog, text = init(lake)
    orders = catalog.tables["orders"]
    assert [(column.name, str(column.type)) for column in orders.columns] == [
        ("day", "string"),
        ("id", "bigint"),
        ("customer_id", "int"),
        ("email", "string"),
        ("status", "string"),
    ]
    assert [column.name for column in orders.columns if not column.nullable] == ["id"]
    assert orders.primary_key == ("id",)
    assert "# partitioned by [day]" in text
    assert "# left out: tags" in text
    assert "# guess: no duplicate in" in text
    assert result.tables == {"orders": ()}
    assert catalog.stores["lake"].path == str(lake)
    assert 'path: "./lake"' in text


def test_a_relation_named_after_a_table_is_its_index(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "orders__by_customer", ORDERS.select(["customer_id", "id", "status"]))
    _, catalog, text = init(lake)
    index = catalog.tables["orders"].index("by_customer")
    assert [column.name for column in index.key] == ["customer_id"]
    assert [column.name for column in index.suffix] == ["id"]
    assert [column.name for column in index.stored] == ["status"]
    assert index.relation == "orders__by_customer"
    assert "# guess: named after the table" in text


def test_a_column_that_nothing_explains_is_to_be_filled_in(lake: Path) -> None:
    """Written as an index on another column, damage in it would be called clean."""
    delta(lake, "orders", ORDERS)
    by_month = ORDERS.select(["customer_id", "id", "status"]).add_column(
        0, "month", pa.array([f"m{row * 7919 % 11}" for row in range(ROWS)])
    )
    delta(lake, "orders__by_customer", by_month)
    path = lake.parent / "scrub.yaml"
    result = init_catalog(lake, path)
    lines = path.read_text().splitlines()
    (line,) = [number for number, line in enumerate(lines, 1) if "by_customer:" in line]
    assert '{columns: [{expr: "?", as: month}, customer_id], storing: [status]}' in lines[line - 1]
    what = (
        "how month (string) is computed from a row of orders; without the column, it is not "
        "compared"
    )
    assert lines[line - 2].strip() == f"# fill in: {what}"
    assert result.to_fill_in == (f"orders.by_customer: {what}",)
    with pytest.raises(CatalogError) as error:
        load_catalog(path)
    (mistake,) = error.value.mistakes
    assert (mistake.line, mistake.message) == (
        line,
        "fill in how 'month' of index 'by_customer' is computed from the row",
    )
    assert "as: month" in (mistake.hint or "")


def test_an_index_with_nothing_but_such_a_column_is_no_table_of_its_own(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    month = pa.table({"month": [f"m{row % 3}" for row in range(ROWS)], "id": ORDERS["id"]})
    delta(lake, "orders__by_month", month)
    result = init_catalog(lake, lake.parent / "scrub.yaml")
    assert result.tables == {"orders": ("by_month",)}
    assert len(result.to_fill_in) == 1


def test_a_column_of_another_type_is_to_be_filled_in(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    customers = pa.array([f"c{row % 7}" for row in range(ROWS)])
    delta(lake, "orders__by_customer", pa.table({"customer_id": customers, "id": ORDERS["id"]}))
    result = init_catalog(lake, lake.parent / "scrub.yaml")
    assert "how customer_id (string) is computed" in result.to_fill_in[0]


MOMENTS = [datetime(2024, 1 + row % 12, 1 + row % 28, row % 24, 30) for row in range(ROWS)]
EVENTS = (
    ORDERS.append_column("at", pa.array(MOMENTS, pa.timestamp("us", tz="UTC")))
    .append_column("local", pa.array(MOMENTS, pa.timestamp("us")))
    .append_column("on", pa.array([moment.date() for moment in MOMENTS], pa.date32()))
    .append_column("a b", pa.array([f" Word {row} " for row in range(ROWS)]))
)
DERIVED = {
    "email_lower": (LOWER, pa.string(), "lower(email)"),
    "mail": (ORDERS["email"].to_pylist(), pa.string(), "email"),
    "EMAIL_UP": ([e.upper() for e in ORDERS["email"].to_pylist()], pa.string(), "upper(email)"),
    "word": ([f"Word {row}" for row in range(ROWS)], pa.string(), "trim(`a b`)"),
    "at_day": ([m.date() for m in MOMENTS], pa.date32(), "to_date(at)"),
    "local_month": (
        [m.replace(day=1, hour=0, minute=0) for m in MOMENTS],
        pa.timestamp("us"),
        "date_trunc('MONTH', local)",
    ),
    "at_month": ([f"{m:%Y-%m}" for m in MOMENTS], pa.string(), "date_format(at, 'yyyy-MM')"),
    "on_month": ([m.date().replace(day=1) for m in MOMENTS], pa.date32(), "trunc(`on`, 'MM')"),
    "day_month": ([d[:7] for d in EVENTS["day"].to_pylist()], pa.string(), None),
    "email_start": (
        [e[:7] for e in ORDERS["email"].to_pylist()],
        pa.string(),
        "substring(email, 1, 7)",
    ),
    "customer_text": (
        [str(row % 7) for row in range(ROWS)],
        pa.string(),
        "CAST(customer_id AS STRING)",
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_a_column_that_follows_from_another_is_offered_as_a_guess(lake: Path, name: str) -> None:
    values, arrow, expression = DERIVED[name]
    delta(lake, "events", EVENTS.drop_columns("tags"))
    entries = pa.table({name: pa.array(values, arrow), "id": ORDERS["id"]})
    delta(lake, "events__by_it", entries)
    if expression is None:  # a constant follows from anything
        assert init_catalog(lake, lake.parent / "scrub.yaml").to_fill_in
        return
    _, catalog, text = init(lake)
    (column,) = catalog.tables["events"].index("by_it").key
    assert (column.name, column.source, column.is_expression) == (name, expression, True)
    assert f"# guess: named after the table; {name} is {expression} in all rows looked at" in text


def test_a_relation_that_only_renames_is_offered_whatever_it_is_called(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "email_lookup", pa.table({"email_lower": LOWER, "id": ORDERS["id"]}))
    _, catalog, text = init(lake)
    (column,) = catalog.tables["orders"].index("email_lookup").key
    assert column.source == "lower(email)"
    assert "all its columns follow from the table's" in text


def test_one_row_that_differs_ends_a_guess(lake: Path) -> None:
    lower = [*LOWER]
    lower[17] = "else"
    delta(lake, "orders", ORDERS)
    delta(lake, "orders__by_email", pa.table({"email_lower": lower, "id": ORDERS["id"]}))
    assert init_catalog(lake, lake.parent / "scrub.yaml").to_fill_in


def test_an_index_with_fewer_entries_than_rows_is_marked(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    closed = ORDERS.filter(pa.compute.equal(ORDERS["status"], "closed"))
    delta(lake, "orders__closed", closed.select(["customer_id", "id"]))
    path = lake.parent / "scrub.yaml"
    init_catalog(lake, path)
    text = path.read_text()
    assert 'closed: {columns: [customer_id], where: "?"}' in text
    assert "150 entries for 300 rows, so it covers only some" in text
    with pytest.raises(CatalogError) as error:
        load_catalog(path)
    (mistake,) = error.value.mistakes
    assert mistake.message == "fill in which rows index 'closed' covers"
    path.write_text(text.replace('"?"', "\"status = 'closed'\""))
    assert load_catalog(path).tables["orders"].index("closed").where == "status = 'closed'"


def test_an_index_that_leaves_out_null_says_so(lake: Path) -> None:
    customers = pa.array([None if row % 3 == 0 else row for row in range(ROWS)], pa.int32())
    orders = ORDERS.set_column(2, "customer_id", customers)
    delta(lake, "orders", orders)
    entries = orders.select(["customer_id", "id"]).filter(orders["customer_id"].is_valid())
    delta(lake, "orders__by_customer", entries)
    _, catalog, text = init(lake)
    assert catalog.tables["orders"].index("by_customer").nulls is Nulls.SKIP
    assert "as many as have no NULL in its key" in text


def test_a_few_lost_entries_are_for_the_check_to_find(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "orders__by_customer", ORDERS.select(["customer_id", "id"]).slice(3))
    _, catalog, text = init(lake)
    assert catalog.tables["orders"].index("by_customer").where is None
    assert "297 entries for 300 rows" in text


def test_what_scrub_itself_keeps_in_a_lake_is_left_out(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, JOURNAL, pa.table({"id": range(3), "run": ["a", "b", "c"]}))
    result, catalog, text = init(lake)
    assert set(catalog.tables) == {"orders"}
    assert not result.unusable
    assert JOURNAL not in text


def test_a_relation_with_only_columns_of_a_table_is_guessed_to_be_its_index(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    parquet(lake / "status_lookup.parquet", ORDERS.select(["id", "status"]))
    _, catalog, _ = init(lake)
    index = catalog.tables["orders"].index("status_lookup")
    assert (index.store, index.relation) == ("files", "status_lookup.parquet")
    assert [column.name for column in index.key] == ["status"]


def test_a_table_that_merely_shares_names_is_no_index(lake: Path) -> None:
    customers = pa.table(
        {"id": pa.array(range(20), pa.int64()), "email": [f"c{row}" for row in range(20)]}
    )
    delta(lake, "orders", ORDERS)
    delta(lake, "customers", customers)
    _, catalog, _ = init(lake)
    assert set(catalog.tables) == {"orders", "customers"}


def test_an_index_of_which_most_entries_are_wrong_is_an_index(lake: Path) -> None:
    """As a table of its own it would be compared with nothing, and the run called clean."""
    delta(lake, "orders", ORDERS)
    wrong = pa.array([row % 7 + 1 for row in range(ROWS)], pa.int32())
    delta(lake, "orders__by_customer", pa.table({"customer_id": wrong, "id": ORDERS["id"]}))
    result, _, text = init(lake)
    assert result.tables == {"orders": ("by_customer",)}
    assert "customer_id differs from the table's in most rows looked at" in text


def test_an_index_with_many_entries_too_many_is_an_index(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    entries = ORDERS.select(["customer_id", "id"])
    delta(lake, "orders__by_customer", pa.concat_tables([entries] * 3))
    assert init(lake)[0].tables == {"orders": ("by_customer",)}


def test_a_computed_column_may_have_the_name_of_the_one_it_is_made_from(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "orders__by_email", pa.table({"email": LOWER, "id": ORDERS["id"]}))
    _, catalog, _ = init(lake)
    (column,) = catalog.tables["orders"].index("by_email").key
    assert (column.name, column.source) == ("email", "lower(email)")


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (
            {"email": ORDERS["email"], "order_id": ORDERS["id"]},
            "named after orders, but it has no column id, which is in the primary key of orders",
        ),
        (
            {"email": ORDERS["email"], "id": ORDERS["id"].cast(pa.string())},
            "named after orders, but its column id is of type string, which is not that of orders",
        ),
        (
            {"id": ORDERS["id"]},
            "named after orders, but it has no column beside the primary key of orders",
        ),
    ],
)
def test_a_relation_with_the_name_of_an_index_that_is_none_is_told(
    lake: Path, entries: dict, why: str
) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "orders__by_email", pa.table(entries))
    result, _, text = init(lake)
    assert result.tables == {"orders": (), "orders__by_email": ()}
    assert result.no_indexes == {"orders__by_email": why}
    above = "  # not taken for an index, so not compared with a table: "
    assert f"{above}{why}\n  orders__by_email:\n" in text


def test_an_index_of_a_table_that_is_not_described_is_told(lake: Path) -> None:
    delta(lake, "orders", pa.table({"ratio": [0.5, 0.5]}))
    delta(lake, "orders__by_email", ORDERS.select(["email", "id"]))
    result, _, _ = init(lake)
    assert result.no_indexes == {
        "orders__by_email": "named after orders, which is not described here"
    }


def test_a_pair_of_columns_is_a_key_when_no_column_is(lake: Path) -> None:
    rows = range(40)
    delta(
        lake,
        "lines",
        pa.table({"order_id": [row // 4 for row in rows], "line": [row % 4 for row in rows]}),
    )
    _, catalog, _ = init(lake)
    assert catalog.tables["lines"].primary_key == ("order_id", "line")


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ({"name": ["a", "b"], "id": [1, 2]}, "id"),
        ({"number": [1, 2], "things_id": [3, 4]}, "things_id"),
        ({"number": [1, 2], "thing_id": [3, 4]}, "thing_id"),
        ({"id": [1, 1], "code": ["a", "b"]}, "code"),
        ({"id": [1, None], "code": ["a", "b"]}, "code"),
        ({"price": [1.5, 2.5], "code": ["a", "b"]}, "code"),
    ],
)
def test_the_likeliest_unique_column_is_the_key(lake: Path, columns: dict, key: str) -> None:
    delta(lake, "things", pa.table(columns))
    assert init(lake)[1].tables["things"].primary_key == (key,)


def test_duplicates_in_the_last_file_are_noticed(lake: Path) -> None:
    for part in range(5):
        numbers = pa.table({"id": range(10), "code": [f"{part}-{row}" for row in range(10)]})
        parquet(lake / "numbers" / f"part-{part}.parquet", numbers)
    assert init(lake)[1].tables["numbers"].primary_key == ("code",)


def test_partitioned_parquet_gets_its_columns_from_paths(lake: Path) -> None:
    for year in (2023, 2024):
        events = pa.table({"id": range(year, year + 1)})
        parquet(lake / "events" / f"year={year}" / "region=eu" / "a.parquet", events)
    _, catalog, text = init(lake)
    types = {column.name: str(column.type) for column in catalog.tables["events"].columns}
    assert types == {"id": "bigint", "year": "bigint", "region": "string"}
    assert "# guess: its type, from the names of directories" in text


def test_tables_further_down_keep_their_path(lake: Path) -> None:
    delta(lake, "sales/eu/orders", ORDERS)
    delta(lake, "sales/us/orders", ORDERS.rename_columns([*"abcdef"]))
    _, catalog, _ = init(lake)
    assert {table.relation for table in catalog.tables.values()} == {
        "sales/eu/orders",
        "sales/us/orders",
    }
    assert set(catalog.tables) == {"sales_eu_orders", "sales_us_orders"}


def test_the_directory_may_be_the_table(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    path = lake.parent / "scrub.yaml"
    init_catalog(lake / "orders", path)
    catalog = load_catalog(path)
    assert catalog.stores["lake"].path == str(lake)
    assert catalog.tables["orders"].relation == "orders"


def test_what_cannot_be_described_is_listed_with_the_reason(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    delta(lake, "twins", pa.table({"a": [1, 1], "b": ["x", "x"]}))
    delta(lake, "nested", pa.table({"a": [[1]]}))
    delta(lake, "-dash", pa.table({"id": [1]}))
    (lake / "broken.parquet").write_bytes(b"not parquet")
    (lake / "empty" / "_delta_log").mkdir(parents=True)
    result, _, text = init(lake)
    assert set(result.unusable) == {"twins", "nested", "-dash", "broken.parquet", "empty"}
    assert all(f"{name}" in text for name in result.unusable)
    assert set(result.tables) == {"orders"}


def test_an_empty_table_is_described_by_its_names(lake: Path) -> None:
    delta(lake, "orders", ORDERS.slice(0, 0))
    _, catalog, text = init(lake)
    assert catalog.tables["orders"].primary_key == ("id",)
    assert "it has no rows" in text


def test_nothing_found_is_said(lake: Path) -> None:
    lake.mkdir()
    with pytest.raises(UsageError, match="no Delta or Parquet table below"):
        init_catalog(lake, lake / "scrub.yaml")
    with pytest.raises(UsageError, match=r"there is no directory"):
        init_catalog(lake / "nowhere", lake / "scrub.yaml")
    (lake / "broken.parquet").write_bytes(b"not parquet")
    with pytest.raises(UsageError, match="can be described"):
        init_catalog(lake, lake / "scrub.yaml")
    assert not (lake / "scrub.yaml").exists()


def test_an_existing_catalog_is_kept_unless_forced(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    path = lake.parent / "scrub.yaml"
    path.write_text("mine")
    with pytest.raises(UsageError, match="already") as error:
        init_catalog(lake, path)
    assert error.value.hint == "--force overwrites it; --catalog FILE writes another file"
    assert path.read_text() == "mine"
    init_catalog(lake, path, force=True)
    assert set(load_catalog(path).tables) == {"orders"}
    assert sorted(os.listdir(lake.parent)) == ["lake", "scrub.yaml"]


def test_a_catalog_that_cannot_be_written_says_so(lake: Path) -> None:
    delta(lake, "orders", ORDERS)
    with pytest.raises(UsageError, match=r"there is no directory .*nowhere for the catalog"):
        init_catalog(lake, lake.parent / "nowhere" / "scrub.yaml")
    with pytest.raises(UsageError, match="cannot write"):
        init_catalog(lake, Path("/proc/scrub.yaml"))


def test_a_wrong_directory_is_named_though_the_catalog_exists_too(lake: Path) -> None:
    path = lake.parent / "scrub.yaml"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"there is no directory .*nowhere") as missing:
        init_catalog(lake / "nowhere", path)
    with pytest.raises(UsageError, match=r"scrub\.yaml is no directory") as a_file:
        init_catalog(path, path)
    for told in (missing.value, a_file.value):
        assert told.hint == "name one that has Delta or Parquet tables in it"


def test_a_catalog_elsewhere_names_the_whole_path(lake: Path, tmp_path: Path) -> None:
    delta(lake, "orders", ORDERS)
    (tmp_path / "conf").mkdir()
    init_catalog(lake, tmp_path / "conf" / "scrub.yaml")
    assert load_catalog(tmp_path / "conf" / "scrub.yaml").stores["lake"].path == str(lake)


@pytest.mark.parametrize("name", ["on", "a: b", "größe", "x#y", "'q'", "a,b", "100%", "it is"])
def test_special_names_are_quoted(lake: Path, name: str) -> None:
    delta(lake, name, pa.table({"id": [1, 2], name: ["a", "b"]}))
    _, catalog, _ = init(lake)
    assert [column.name for column in catalog.tables[name].columns] == ["id", name]


names = st.text(min_size=1, max_size=8).filter(lambda name: problem_of(name) is None)


@settings(max_examples=60, deadline=None)
@given(
    columns=st.lists(names, min_size=2, max_size=4, unique_by=str.lower),
    table=names,
    index=names,
    remark=st.text(max_size=10),
)
def test_whatever_is_proposed_loads_as_it_was_proposed(
    columns: list[str],
    table: str,
    index: str,
    remark: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    proposed = Table(
        name=table,
        store="lake",
        relation="some/relation",
        columns=tuple(Column(name=name, type=parse_type("decimal(5,1)")) for name in columns),
        primary_key=tuple(columns[:1]),
        indexes=(
            Index(
                name=index,
                store="lake",
                relation="other",
                key=(EntryColumn(name=columns[1], source=columns[1]),),
                suffix=(),
            ),
        ),
    )
    proposal = Proposal(
        stores=(Store(name="lake", kind="delta", path="./x"),),
        tables=(
            ProposedTable(
                table=proposed,
                key_guess=remark,
                index_guesses={index: remark},
                type_guesses={columns[0]: remark},
                left_out={remark: remark},
                partitioned_by=tuple(columns),
            ),
        ),
        unusable={remark: remark},
    )
    path = tmp_path_factory.mktemp("proposed") / "scrub.yaml"
    path.write_text(render_catalog(proposal), encoding="utf-8", errors="surrogatepass")
    loaded = load_catalog(path).tables[table]
    assert [column.name for column in loaded.columns] == columns
    assert loaded.primary_key == (columns[0],)
    assert loaded.index(index).key[0].name == columns[1]
