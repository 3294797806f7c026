# SPDX-License-Identifier: Apache-2.0
"""A good catalog becomes tables, indexes and stores with all defaults filled in."""

import subprocess
import sys
from pathlib import Path

import pytest

from scrub.catalog import Catalog, load_catalog
from scrub.errors import UsageError
from scrub.model.table import EntryColumn, ForeignKey, Index, Nulls, Reflects
from scrub.model.types import parse_type

ORDERS = """\
version: 1
stores:
  lake:  {kind: delta, path: ./lake, options: {AWS_SECRET_ACCESS_KEY: "${TEST_SECRET}", retries: 3}}
  files: {kind: spark, format: parquet, path: "s3://bucket/export"}
  hive:  {kind: spark, format: table}
tables:
  orders:
    store: lake
    columns:
      id:          {type: bigint, nullable: false}
      customer_id: {type: bigint}
      email:       {type: string}
      status:      {type: string}
      amount:      {type: "decimal(10,2)"}
    primary_key: [id]
    checks:
      positive_amount: "amount >= 0"
    foreign_keys:
      customer: {columns: [customer_id], references: customers}
    indexes:
      by_customer: {columns: [customer_id, {column: id, order: desc}], storing: [status]}
      by_email:
        columns: [{expr: "lower(email)", as: email_lower, order: desc, type: string}]
        storing: [{expr: "amount * 2", as: double_amount}]
        unique: true
      open_orders: {columns: [customer_id], where: "STATUS = 'open'", nulls: skip, store: files}
      dotted: {columns: [status], relation: orders.by-status}
  customers:
    store: lake
    relation: people/customers
    layout: columns
    columns: {id: {type: int}}
    primary_key: [id]
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("TEST_SECRET", "hunter2")
    (tmp_path / "scrub.yaml").write_text(ORDERS)
    return load_catalog(tmp_path / "scrub.yaml")


def load(tmp_path: Path, text: str) -> Catalog:
    path = tmp_path / "scrub.yaml"
    path.write_text(text)
    return load_catalog(path)


def index(tmp_path: Path, text: str) -> Index:
    """The index `x` of a small table, described by one line of YAML."""
    table = (
        "version: 1\nstores: {lake: {kind: delta, path: .}}\n"
        "tables:\n  t:\n    store: lake\n    primary_key: [a, b]\n"
        "    columns: {a: {type: int}, b: {type: date}, c: {type: string}}\n"
        f"    indexes:\n      x: {text}\n"
    )
    return load(tmp_path, table).tables["t"].index("x")


def test_stores_are_resolved_and_filled_in(catalog: Catalog, tmp_path: Path) -> None:
    lake, files, hive = catalog.stores["lake"], catalog.stores["files"], catalog.stores["hive"]
    assert lake.path == str(tmp_path / "lake")
    assert lake.options == {"AWS_SECRET_ACCESS_KEY": "hunter2", "retries": "3"}
    assert (files.path, files.format) == ("s3://bucket/export", "parquet")
    assert (hive.path, hive.format) == (None, "table")


@pytest.mark.parametrize(
    "location", ["s3://b/x", "abfss://c@a.dfs/x", "hdfs:///x", "file:///x", "/data/x"]
)
def test_absolute_paths_and_uris_stay_as_they_are(tmp_path: Path, location: str) -> None:
    text = ORDERS.replace("${TEST_SECRET}", "").replace("./lake", location)
    text = text.replace('AWS_SECRET_ACCESS_KEY: "", ', "")
    assert load(tmp_path, text).stores["lake"].path == location


def test_secrets_stay_out_of_what_is_printed(catalog: Catalog) -> None:
    assert "hunter2" not in repr(catalog)


def test_tables_hold_columns_keys_and_constraints(catalog: Catalog) -> None:
    orders, customers = catalog.tables["orders"], catalog.tables["customers"]
    assert [str(column.type) for column in orders.columns[-2:]] == ["string", "decimal(10,2)"]
    assert [column.nullable for column in orders.columns[:2]] == [False, True]
    assert (orders.relation, customers.relation) == ("orders", "people/customers")
    assert orders.primary_key == ("id",)
    assert orders.checks == {"positive_amount": "amount >= 0"}
    assert orders.foreign_keys == (
        ForeignKey(name="customer", columns=("customer_id",), references="customers"),
    )
    assert orders.line == 7


def test_an_index_takes_its_key_the_rest_of_the_primary_key_and_stored_columns(
    catalog: Catalog,
) -> None:
    by_customer = catalog.tables["orders"].index("by_customer")
    assert [column.name for column in by_customer.entry] == ["customer_id", "id", "status"]
    assert by_customer.suffix == ()
    assert [column.descending for column in by_customer.key] == [False, True]
    assert (by_customer.store, by_customer.relation) == ("lake", "orders__by_customer")
    assert by_customer.line == 21


def test_expressions_carry_their_declared_type_or_none(catalog: Catalog) -> None:
    by_email = catalog.tables["orders"].index("by_email")
    assert by_email.key == (
        EntryColumn(
            name="email_lower",
            source="lower(email)",
            is_expression=True,
            type=parse_type("string"),
            descending=True,
        ),
    )
    assert [column.name for column in by_email.suffix] == ["id"]
    assert by_email.stored[0].type is None
    assert by_email.unique


def test_an_index_may_be_partial_elsewhere_and_called_otherwise(catalog: Catalog) -> None:
    open_orders = catalog.tables["orders"].index("open_orders")
    assert (open_orders.where, open_orders.nulls) == ("STATUS = 'open'", Nulls.SKIP)
    assert open_orders.store == "files"
    assert catalog.tables["orders"].index("dotted").relation == "orders.by-status"


def test_a_primary_key_column_used_in_an_expression_is_still_a_suffix(tmp_path: Path) -> None:
    found = index(tmp_path, "{columns: [b, {expr: a + 1, as: next}]}")
    assert [column.name for column in found.suffix] == ["a"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("12", Reflects(version=12)),
        ("{version: 0}", Reflects(version=0)),
        ('"2026-01-31T08:00:00Z"', Reflects(time="2026-01-31T08:00:00+00:00")),
        ("2026-01-31 08:00:00+02:00", Reflects(time="2026-01-31T08:00:00+02:00")),
        ("{time: 2026-01-31}", Reflects(time="2026-01-31T00:00:00+00:00")),
        ("{column: source_version}", Reflects(column="source_version")),
    ],
)
def test_reflects_in_all_its_forms(tmp_path: Path, text: str, wanted: Reflects) -> None:
    assert index(tmp_path, f"{{columns: [c], reflects: {text}}}").reflects == wanted


@pytest.mark.parametrize("name", ["no", "on", "12", "null!", "größe", "a b", "a.b", "'~'"])
def test_names_are_what_the_file_says_not_what_yaml_makes_of_them(
    tmp_path: Path, name: str
) -> None:
    text = (
        "version: 1\nstores: {lake: {kind: delta, path: .}}\n"
        f"tables: {{t: {{store: lake, columns: {{{name}: {{type: int}}}}, primary_key: [{name}]}}}}"
    )
    assert load(tmp_path, text).tables["t"].primary_key == (name.strip("'"),)


def test_anchors_let_tables_share_columns(tmp_path: Path) -> None:
    text = (
        "version: 1\nstores: {lake: {kind: delta, path: .}}\ntables:\n"
        "  a: {store: lake, primary_key: [id], columns: &shared {id: {type: int}}}\n"
        "  b: {store: lake, primary_key: [id], columns: *shared}\n"
    )
    tables = load(tmp_path, text).tables
    assert tables["a"].columns == tables["b"].columns


def test_a_missing_catalog_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no catalog") as error:
        load_catalog(tmp_path / "scrub.yaml")
    assert "scrub init DIR" in (error.value.hint or "")


def test_a_directory_or_binary_file_is_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_catalog(tmp_path)
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        load_catalog(tmp_path / "x")


def test_a_catalog_without_expressions_imports_no_parser(tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_text(
        "version: 1\nstores: {lake: {kind: delta, path: .}}\n"
        "tables: {t: {store: lake, columns: {id: {type: int}}, primary_key: [id]}}"
    )
    program = (
        "import sys\nfrom pathlib import Path\nfrom scrub.catalog import load_catalog\n"
        f"load_catalog(Path({str(tmp_path / 'scrub.yaml')!r}))\n"
        "print([m for m in ('sqlglot', 'pyspark', 'pyarrow', 'numpy') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
