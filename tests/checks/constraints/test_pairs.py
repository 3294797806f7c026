# SPDX-License-Identifier: Apache-2.0
"""Constraints of tables in key-value layout, checked end to end."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scrub.errors import UsageError
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.checks.constraints.pair_rows import Promised, TwoLayouts, found, of_constraint
from tests.checks.pairs.pair_ground import Pair

pytestmark = pytest.mark.spark

CUSTOMERS = Promised(
    {"id": {"type": "bigint", "nullable": False}, "name": {"type": "string"}},
    [{"id": number, "name": f"c{number}"} for number in range(10)],
)
ORDER_COLUMNS = {
    "id": {"type": "bigint", "nullable": False},
    "customer": {"type": "bigint"},
    "payer": {"type": "int"},
    "email": {"type": "string"},
    "amount": {"type": "decimal(10,2)"},
    "status": {"type": "string", "nullable": False},
}
PROMISES = {
    "checks": {"positive": "amount >= 0"},
    "unique": {"one_email": ["email"]},
    "foreign_keys": {
        "to_pairs": {"columns": ["customer"], "references": "customers_pairs"},
        "to_columns": {"columns": ["payer"], "references": "customers_columns"},
    },
}
TWO_FAMILIES = {"families": {"rest": {"id": 1, "columns": ["status", "email"]}}}
CONSTRAINTS = ("not_null", "positive", "primary_key", "one_email", "to_pairs", "to_columns")
PLANTED = {
    ("null_violation", "not_null", "status", '{"id": 3}'),
    ("check_violation", "positive", None, '{"id": 4}'),
    ("unique_violation", "one_email", None, '{"id": 5}'),
    ("unique_violation", "one_email", None, '{"id": 6}'),
    ("foreign_key_violation", "to_pairs", None, '{"id": 7}'),
    ("foreign_key_violation", "to_columns", None, '{"id": 8}'),
    ("duplicate_primary_key", "primary_key", None, '{"id": 20}'),
    ("duplicate_primary_key", "primary_key", None, '{"id": 21}'),
}


def an_order(number: int, **other: Any) -> dict[str, Any]:
    return {
        "id": number,
        "customer": number % 10,
        "payer": number % 10,
        "email": f"user{number}",
        "amount": Decimal(number).scaleb(-2),
        "status": "open",
    } | other


def orders(*, planted: bool = True) -> list[dict[str, Any]]:
    rows = [an_order(number) for number in range(24)]
    rows[1] |= {"customer": None, "payer": None, "amount": None, "email": None}
    rows[2] |= {"email": None}
    if planted:
        rows[3] |= {"status": None}
        rows[4] |= {"amount": Decimal("-1.00")}
        rows[5] |= {"email": "user6"}
        rows[7] |= {"customer": 77}
        rows[8] |= {"payer": 88}
        rows += [an_order(20), an_order(21, status="paid")]
    return rows


def a_shop(directory: Path, *, planted: bool = True, **more: Any) -> TwoLayouts:
    ground = TwoLayouts(directory)
    table = Promised(ORDER_COLUMNS, orders(planted=planted), more=PROMISES | more)
    ground.write({"customers": CUSTOMERS, "orders": table})
    return ground


@pytest.mark.parametrize("families", [{}, TWO_FAMILIES], ids=["one family", "two families"])
@pytest.mark.parametrize("engine", ["auto", "sql"])
def test_each_planted_violation_is_found_once(
    tmp_path: Path, spark: Any, engine: str, families: dict[str, Any]
) -> None:
    ground = a_shop(tmp_path, **families)
    result = ground.check(spark, "orders_pairs", checks=["constraint"], engine=engine)
    assert found(result) == PLANTED
    assert len(result.defects) == len(PLANTED)
    assert tuple(outcome.constraint for outcome in result.outcomes) == CONSTRAINTS
    assert {outcome.rows for outcome in result.outcomes} == {26}
    assert [dict(outcome.counts) for outcome in result.outcomes] == [
        {DefectKind.NULL_VIOLATION: 1},
        {DefectKind.CHECK_VIOLATION: 1},
        {DefectKind.DUPLICATE_KEY: 2},
        {DefectKind.UNIQUE_VIOLATION: 2},
        {DefectKind.FOREIGN_KEY_VIOLATION: 1},
        {DefectKind.FOREIGN_KEY_VIOLATION: 1},
    ]


def test_rows_of_columns_refer_to_pairs(tmp_path: Path, spark: Any) -> None:
    result = a_shop(tmp_path).check(spark, "orders_columns", checks=["constraint"])
    assert found(result) == PLANTED
    assert of_constraint(result, "to_pairs").counts == {DefectKind.FOREIGN_KEY_VIOLATION: 1}


@pytest.mark.parametrize("engine", ["auto", "sql"])
def test_the_default_checks_find_the_same_defects(tmp_path: Path, spark: Any, engine: str) -> None:
    ground = a_shop(tmp_path)
    alone = ground.check(spark, "orders_pairs", checks=["constraint"], engine=engine)
    result = ground.check(spark, "orders_pairs", engine=engine)
    assert {(d.id, d.content()) for d in result.defects} == {
        (d.id, d.content()) for d in alone.defects
    }
    assert len(result.defects) == len(alone.defects)
    physical = next(outcome for outcome in result.outcomes if outcome.check == "physical")
    assert physical.counts == {DefectKind.DUPLICATE_KEY: 2, DefectKind.NULL_VIOLATION: 1}
    of_constraints = [o.constraint for o in result.outcomes if o.check == "constraint"]
    assert of_constraints == ["positive", "one_email", "to_pairs", "to_columns"]


def test_what_the_physical_check_reports_is_said_where_constraints_are_named(
    tmp_path: Path, spark: Any
) -> None:
    ground = a_shop(tmp_path, planted=False)
    result = ground.check(spark, "orders_pairs", checks=["physical", "constraint"])
    assert result.status is Status.CLEAN
    for name, what in {"not_null": "NULLs", "primary_key": "more than once"}.items():
        outcome = of_constraint(result, name)
        assert outcome.status is Status.NOT_APPLICABLE
        assert what in (outcome.reason or "")


def test_a_row_there_twice_counts_once_beside_an_index(tmp_path: Path, spark: Any) -> None:
    index = {"indexes": {"by_email": {"index_id": 2, "columns": ["email"], "relation": "entries"}}}
    ground = a_shop(tmp_path, **index)
    (tmp_path / "entries").symlink_to(tmp_path / "customers_pairs")  # has no entry of the index
    result = ground.check(spark, "orders_pairs", checks=["index", "constraint"])
    counted = [o.counts.get(DefectKind.DUPLICATE_KEY, 0) for o in result.outcomes]
    assert sum(counted) == 2
    assert of_constraint(result, "primary_key").counts == {DefectKind.DUPLICATE_KEY: 2}
    shown = [d for d in result.defects if d.kind is DefectKind.DUPLICATE_KEY]
    assert len(shown) == len({d.id for d in shown}) == 2


def test_an_index_that_is_not_there_costs_no_constraint(tmp_path: Path, spark: Any) -> None:
    index = {"indexes": {"by_email": {"index_id": 2, "columns": ["email"], "relation": "gone"}}}
    ground = a_shop(tmp_path, planted=False, **index)
    result = ground.check(spark, "orders_pairs", checks=["index", "constraint"])
    assert result.status is Status.INCOMPLETE
    assert {o.status for o in result.outcomes if o.check == "constraint"} == {Status.CLEAN}
    alone = ground.check(spark, "orders_pairs", checks=["constraint"])
    assert alone.status is Status.CLEAN


def test_tasks_open_pairs_on_both_sides(tmp_path: Path, spark: Any) -> None:
    ground = a_shop(tmp_path)
    own = [name for name in CONSTRAINTS if name != "to_columns"]
    result = ground.check(spark, "orders_pairs", constraints=own, engine="native")
    assert found(result) == {one for one in PLANTED if one[1] != "to_columns"}
    assert {o.engine for o in result.outcomes if o.check == "constraint"} <= {"native", None}
    with pytest.raises(UsageError, match="compares decoded rows with customers_columns"):
        ground.check(spark, "orders_pairs", checks=["constraint"], engine="native")


# What cannot be decoded


def _with_cut_value(pairs: list[Pair], number: int) -> list[Pair]:
    key, value = pairs[number]
    return [*pairs[:number], (key, value[:-1]), *pairs[number + 1 :]]


@pytest.mark.parametrize("engine", ["auto", "sql"])
def test_a_row_that_cannot_be_decoded_makes_every_constraint_incomplete(
    tmp_path: Path, spark: Any, engine: str
) -> None:
    ground = a_shop(tmp_path, planted=False)
    pairs = ground.pairs_of("orders", orders(planted=False))
    ground.write_pairs("orders", _with_cut_value(pairs, 12))
    result = ground.check(spark, "orders_pairs", checks=["constraint"], engine=engine)
    assert result.status is Status.INCOMPLETE
    assert not result.defects
    for name in CONSTRAINTS:
        outcome = of_constraint(result, name)
        assert outcome.status is Status.INCOMPLETE
        assert "1 row could not be decoded" in (outcome.reason or "")


@pytest.mark.parametrize("layout", ["pairs", "columns"])
def test_a_parent_that_cannot_be_decoded_leaves_its_children_undecided(
    tmp_path: Path, spark: Any, layout: str
) -> None:
    ground = a_shop(tmp_path, planted=False)
    parents = ground.pairs_of("customers", CUSTOMERS.rows)
    ground.write_pairs("customers", _with_cut_value(parents, 4))
    result = ground.check(spark, f"orders_{layout}", constraints=["to_pairs"])
    outcome = of_constraint(result, "to_pairs")
    assert outcome.status is Status.INCOMPLETE
    assert outcome.undecided == 2  # orders 4 and 14, of customer 4
    assert not result.defects


def test_a_lost_family_is_no_null(tmp_path: Path, spark: Any) -> None:
    ground = a_shop(tmp_path, planted=False, **TWO_FAMILIES)
    pairs = ground.pairs_of("orders", orders(planted=False))
    family = next(n for n, (key, _) in enumerate(pairs) if key[-1] != 0x88)
    ground.write_pairs("orders", _with_cut_value(pairs, family))
    result = ground.check(spark, "orders_pairs", checks=["constraint"])
    assert of_constraint(result, "not_null").status is Status.INCOMPLETE
    assert not result.defects


# What has no type of Spark's


def test_a_column_that_cannot_be_compared_refuses_its_constraint_by_name(
    tmp_path: Path, spark: Any
) -> None:
    ground = TwoLayouts(tmp_path)
    spans = {"id": {"type": "bigint"}, "span": {"type": "interval", "nullable": False}}
    catalog = {
        "checks": {"small": "id < 100"},
        "unique": {"one_span": ["span"]},
    }
    ground.write({"plain": Promised({"id": {"type": "bigint"}}, [])})
    ground.add_pairs("spans", spans, [{"id": 1, "span": (0, 1, 0)}, {"id": 2}], catalog)
    result = ground.check(spark, "spans_pairs", checks=["constraint"])
    refused = of_constraint(result, "one_span")
    assert refused.status is Status.INCOMPLETE
    assert "column span of spans_pairs" in (refused.reason or "")
    assert of_constraint(result, "small").status is Status.CLEAN
    assert of_constraint(result, "not_null").counts == {DefectKind.NULL_VIOLATION: 1}


@pytest.mark.parametrize("engine", ["auto", "sql"])
def test_decimals_of_any_length_are_compared_by_value(
    tmp_path: Path, spark: Any, engine: str
) -> None:
    ground = TwoLayouts(tmp_path)
    prices = Promised({"price": {"type": "decimal"}}, [], primary_key=["price"])
    ground.write({"plain": prices})
    listed = [{"price": Decimal("0.125")}, {"price": Decimal("20")}]
    ground.write_pairs("plain", ground.pairs_of("plain", listed))
    columns = {"id": {"type": "bigint"}, "cost": {"type": "decimal"}}
    more = {
        "checks": {"cheap": "cost < 20.5"},
        "unique": {"one_cost": ["cost"]},
        "foreign_keys": {"listed": {"columns": ["cost"], "references": "plain_pairs"}},
    }
    costs = ["0.1250", "0.125", "20.00", "20.001", "21", "NaN"]
    rows = [{"id": n, "cost": Decimal(text)} for n, text in enumerate(costs)]
    ground.add_pairs("items", columns, rows, more)
    result = ground.check(spark, "items_pairs", checks=["constraint"], engine=engine)
    assert found(result) == {
        ("check_violation", "cheap", None, '{"id": 4}'),
        ("unique_violation", "one_cost", None, '{"id": 0}'),
        ("unique_violation", "one_cost", None, '{"id": 1}'),
        ("foreign_key_violation", "listed", None, '{"id": 3}'),
        ("foreign_key_violation", "listed", None, '{"id": 4}'),
    }
    shared = next(d for d in result.defects if d.constraint == "one_cost")
    assert shared.index_key == {"cost": "0.125"}
    for name in ("cheap", "one_cost", "listed"):  # NaN has no place in Spark's type
        assert "1 row has a value" in (of_constraint(result, name).reason or "")
    for name in ("not_null", "primary_key"):
        assert of_constraint(result, name).status is Status.CLEAN


# One identity

MOMENT = datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC)
KEYS: dict[str, Callable[[int], Any]] = {
    "bigint": lambda n: n,
    "boolean": bool,
    "string": lambda n: f"key {n}",
    "decimal(8,3)": lambda n: Decimal(n) / 2,
    "decimal": lambda n: Decimal(n * 10) / 4,
    "double": lambda n: n / 4 - 0.25,
    "float": lambda n: n / 10,
    "date": lambda n: 18_000 + n,
    "timestamp": lambda n: MOMENT.replace(second=n),
    "timestamp_ntz": lambda n: MOMENT.replace(second=n),
    "uuid": lambda n: uuid.UUID(int=n).bytes,
    "bytes": lambda n: bytes([n, 255]),
    "oid": lambda n: n,
    "time": lambda n: n * 1_000_000,
}


def test_a_row_is_named_alike_whichever_check_finds_its_defect(tmp_path: Path, spark: Any) -> None:
    """All types of keys at once: a table each would take minutes."""
    ground = TwoLayouts(tmp_path)
    ground.write({"plain": Promised({"id": {"type": "bigint"}}, [])})
    columns = {f"k{n}": {"type": of} for n, of in enumerate(KEYS)}
    columns["must"] = {"type": "bigint", "nullable": False}
    rows = [
        {f"k{n}": make(number) for n, make in enumerate(KEYS.values())} | {"must": must}
        for number, must in enumerate([None, 5, 6, 7])
    ]
    rows += [rows[1], rows[2]]
    key = {"primary_key": [f"k{n}" for n in range(len(KEYS))]}
    ground.add_pairs("keys", columns, rows, key)
    by_check = [
        {(d.kind.value, d.id, d.content()) for d in result.defects}
        for result in (
            ground.check(spark, "keys_pairs", checks=[check])
            for check in ("physical", "constraint")
        )
    ]
    assert by_check[0] == by_check[1]
    assert sorted(kind for kind, *_ in by_check[0]) == [
        "duplicate_primary_key",
        "duplicate_primary_key",
        "null_violation",
    ]
