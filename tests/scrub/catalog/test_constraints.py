# SPDX-License-Identifier: Apache-2.0
"""Constraints of a table: what is read of them, and the mistakes that need no data to be seen."""

from pathlib import Path

import pytest

from scrub.catalog import load_catalog
from scrub.errors import CatalogError, Mistake
from scrub.model.constraint import constraints_of, declares_constraints

HEAD = """\
version: 1
stores:
  lake: {kind: delta, path: .}
tables:
  customers:
    store: lake
    columns: {region: {type: int}, id: {type: bigint}, name: {type: string}}
    primary_key: [region, id]
  orders:
    store: lake
    columns:
      id: {type: bigint, nullable: false}
      region: {type: smallint}
      customer_id: {type: int}
      email: {type: string}
      amount: {type: "decimal(10,2)", nullable: false}
    primary_key: [id]
"""
FIRST_LINE = HEAD.count("\n") + 1


def load(tmp_path: Path, more: str):
    path = tmp_path / "scrub.yaml"
    path.write_text(HEAD + more, encoding="utf-8")
    return load_catalog(path)


def the_mistake(tmp_path: Path, more: str) -> Mistake:
    with pytest.raises(CatalogError) as error:
        load(tmp_path, more)
    (found,) = error.value.mistakes
    return found


def test_every_constraint_of_a_table_has_a_name_a_kind_and_columns(tmp_path: Path) -> None:
    table = load(
        tmp_path,
        "    checks: {positive: amount >= 0}\n"
        "    unique: {one_account: [region, email]}\n"
        "    foreign_keys: {customer: {columns: [region, customer_id], references: customers}}\n",
    ).table("orders")
    assert [(c.name, c.kind.value, c.columns) for c in constraints_of(table)] == [
        ("not_null", "not null", ("id", "amount")),
        ("positive", "check", ()),
        ("primary_key", "primary key", ("id",)),
        ("one_account", "unique", ("region", "email")),
        ("customer", "foreign key", ("region", "customer_id")),
    ]


def test_a_key_alone_is_not_a_declared_constraint(tmp_path: Path) -> None:
    catalog = load(tmp_path, "")
    assert not declares_constraints(catalog.table("customers"))
    assert declares_constraints(catalog.table("orders"))  # amount is never NULL


def test_integers_of_a_foreign_key_may_differ_in_width_and_other_types_may_not(
    tmp_path: Path,
) -> None:
    references = "references: customers}}\n"
    load(tmp_path, "    foreign_keys: {c: {columns: [region, customer_id], " + references)
    found = the_mistake(tmp_path, "    foreign_keys: {c: {columns: [region, email], " + references)
    assert found.line == FIRST_LINE
    assert "'email' is string" in found.message
    assert "'id' of customers is bigint" in found.message
    assert found.hint == "give both the same type; integers may differ in width"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("    unique: {u: [emial]}\n", "unique key 'u' uses an unknown column 'emial'"),
        ("    unique: {u: [email, email]}\n", "'email' comes twice in the columns of"),
        ("    unique: {u: []}\n", "unique key 'u' is empty"),
        ("    unique: {u: email}\n", "unique key 'u' must be a list"),
        ("    unique: {not_null: [email]}\n", "every table uses for another constraint"),
        ("    unique: {primary_key: [email]}\n", "every table uses for another constraint"),
        ("    checks: {u: id > 0}\n    unique: {u: [email]}\n", "has the same name as a check"),
        ("    checks: {c: nope > 0}\n", "check 'c'"),
        (
            "    foreign_keys: {c: {columns: [id], references: nowhere}}\n",
            "refers to an unknown table 'nowhere'",
        ),
        (
            "    foreign_keys: {c: {columns: [region, nope], references: customers}}\n",
            "foreign key 'c' uses an unknown column 'nope'",
        ),
        (
            "    foreign_keys: {c: {columns: [region], references: customers}}\n",
            "has 1 columns, the key of customers 2",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, more: str, said: str) -> None:
    found = the_mistake(tmp_path, more)
    assert said in found.message
    assert found.line >= FIRST_LINE


def test_a_table_without_columns_is_one_mistake_not_three(tmp_path: Path) -> None:
    found = the_mistake(
        tmp_path, "  bare:\n    store: lake\n    primary_key: [id]\n    unique: {u: [email]}\n"
    )
    assert "has no 'columns'" in found.message


def test_tables_of_pairs_declare_constraints_too(tmp_path: Path) -> None:
    table = load(
        tmp_path,
        "  pairs:\n"
        "    store: lake\n"
        "    layout: kv\n"
        "    table_id: 53\n"
        "    columns: {id: {type: bigint}, customer: {type: bigint}, region: {type: bigint}}\n"
        "    primary_key: [id]\n"
        "    checks: {c: customer > 0}\n"
        "    unique: {u: [customer]}\n"
        "    foreign_keys: {f: {columns: [region, customer], references: customers}}\n",
    ).table("pairs")
    assert [c.name for c in constraints_of(table)] == ["not_null", "c", "primary_key", "u", "f"]


def test_every_constraint_knows_its_line(tmp_path: Path) -> None:
    table = load(
        tmp_path,
        "    checks:\n"
        "      positive: amount >= 0\n"
        "      small: amount < 10\n"
        "    unique: {one_email: [email]}\n"
        "    foreign_keys:\n"
        "      customer: {columns: [region, customer_id], references: customers}\n",
    ).tables["orders"]
    columns, key = (
        HEAD.splitlines().index(line) + 1 for line in ("    columns:", "    primary_key: [id]")
    )
    assert table.constraint_lines == {
        "not_null": columns,
        "primary_key": key,
        "positive": FIRST_LINE + 1,
        "small": FIRST_LINE + 2,
        "one_email": FIRST_LINE + 3,
        "customer": FIRST_LINE + 5,
    }
