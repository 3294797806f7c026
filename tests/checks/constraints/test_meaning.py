# SPDX-License-Identifier: Apache-2.0
"""What constraints mean, as SQL says it; each engine looks at one lake with all cases."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scrub.model.request import Engine
from scrub.model.result import RunResult, Status
from tests.checks.constraints import lakes

pytestmark = pytest.mark.spark

NAN = float("nan")
ACCOUNTS = {"id": "bigint", "amount": "int", "limit": "int", "say `{x}`": "string"}
PEOPLE = {"id": "bigint", "boss": "int"}
CUSTOMERS = {"region": "string", "number": "int", "name": "string"}
ORDERS = {"id": "bigint", "region": "string", "customer": "bigint"}
RATES = {"rate": "double", "price": "decimal(10,2)"}
SALES = {"id": "int", "rate": "double", "price": "decimal(10,2)"}
PLAIN = {"id": "bigint", "name": "string"}
SAY = "`say ``{x}```"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lake")

    def write(
        name: str, types: dict[str, str], *rows: tuple[Any, ...], key: str = "id", **more: Any
    ) -> Any:
        lakes.write_table(directory, name, types, *rows)
        return lakes.a_table(types, *key.split(), **more)

    accounts = [(1, 5, 9, "a"), (2, None, 9, None), (3, -5, -9, '{"b"}'), (4, -1, None, "{}")]
    people = [(1, None), (2, 1), (3, 3), (4, 99)]
    customers = [("eu", 1, "a"), ("eu", 1, "b"), ("us", 2, "c"), (None, 3, "d")]
    orders = [(1, "eu", 1), (2, "eu", 2), (3, None, 7), (4, "eu", None), (5, None, 3)]
    rates = [(-0.0, "1.50"), (NAN, "2.00")]
    sales = [(1, 0.0, "1.5"), (2, NAN, "2"), (3, 1.0, "2"), (4, 0.0, "1.51"), (5, -0.0, "1.50")]
    tables = {
        "accounts": write(
            "accounts",
            ACCOUNTS,
            *accounts,
            checks={
                "positive": "amount > 0",
                "both": "amount > 0 AND limit > 0",
                "quoted": f"""{SAY} <> '{{"b"}}'""",
                "evaluated": f"length({SAY}) <> 2",
            },
        ),
        "people": write(
            "people", PEOPLE, *people, foreign_keys={"boss": lakes.refers("people", "boss")}
        ),
        "customers": write("customers", CUSTOMERS, *customers, key="region number"),
        "orders": write(
            "orders",
            ORDERS,
            *orders,
            foreign_keys={"customer": lakes.refers("customers", "region", "customer")},
        ),
        "rates": write("rates", RATES, *map(_priced, rates), key="rate price"),
        "sales": write(
            "sales",
            SALES,
            *map(_priced, sales),
            unique={"one_sale": ["rate", "price"]},
            foreign_keys={"rated": lakes.refers("rates", "rate", "price")},
        ),
        "nobody": write("nobody", PLAIN),
        "lonely": write(
            "lonely", PLAIN, (1, "a"), (2, "b"), foreign_keys={"of": lakes.refers("nobody", "id")}
        ),
        "childless": write(
            "childless",
            PLAIN,
            checks={"named": "length(name) > 0"},
            unique={"one_name": ["name"]},
            foreign_keys={"of": lakes.refers("lonely", "id")},
        ),
        "plain": write("plain", PLAIN, (1, "a"), (1, "b"), (2, "c")),
    }
    return lakes.write_catalog(directory, tables)


def _priced(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:-1], Decimal(row[-1]))


@pytest.fixture(scope="module", params=[Engine.AUTO, Engine.SQL])
def result(catalog: Path, spark: Any, request: pytest.FixtureRequest) -> RunResult:
    return lakes.check(catalog, spark, engine=request.param)


def test_a_check_fails_where_it_is_false_and_not_where_it_is_null(result: RunResult) -> None:
    assert ("positive", 2) not in lakes.found(result, "accounts")
    assert ("positive", 4) in lakes.found(result, "accounts")
    # False and NULL is false, true and NULL is NULL.
    assert ("both", 4) in lakes.found(result, "accounts")
    assert ("both", 2) not in lakes.found(result, "accounts")


def test_a_row_that_breaks_two_checks_is_two_defects(result: RunResult) -> None:
    of_row = [d for d in result.defects if d.table == "accounts" and d.primary_key == {"id": 3}]
    assert Counter(d.constraint for d in of_row) == Counter(["positive", "both", "quoted"])
    assert len({defect.id for defect in of_row}) == 3
    (both,) = (defect for defect in of_row if defect.constraint == "both")
    assert both.actual == {"amount": -5, "limit": -9}


def test_braces_quotes_and_backticks_are_only_text(result: RunResult) -> None:
    assert lakes.outcome_of(result, "quoted").defects == 1
    assert lakes.outcome_of(result, "evaluated").defects == 1
    assert {("quoted", 3), ("evaluated", 4)} <= {*lakes.found(result, "accounts")}
    (braces,) = (d for d in result.defects if d.constraint == "evaluated")
    assert braces.actual == {"say `{x}`": "{}"}
    assert braces.detail == f"length({SAY}) <> 2 is false"


def test_a_table_may_refer_to_itself(result: RunResult) -> None:
    assert lakes.found(result, "people") == [("boss", 4)]
    (orphan,) = (defect for defect in result.defects if defect.table == "people")
    assert orphan.index_key == {"boss": 99}
    assert orphan.detail == "boss=99 refers to no row of people"


def test_a_key_with_a_null_refers_to_nothing_and_parents_may_have_copies(
    result: RunResult,
) -> None:
    assert lakes.found(result, "orders") == [("customer", 2)]
    assert lakes.found(result, "customers") == [("not_null", None, 3), ("primary_key", "eu", 1)]


def test_nan_equals_nan_and_negative_zero_equals_zero(result: RunResult) -> None:
    assert lakes.found(result, "sales") == [
        ("one_sale", 1),
        ("one_sale", 5),
        ("rated", 3),
        ("rated", 4),
    ]


def test_without_parents_every_key_refers_to_no_row(result: RunResult) -> None:
    assert lakes.found(result, "lonely") == [("of", 1), ("of", 2)]


def test_a_table_without_rows_violates_nothing(result: RunResult) -> None:
    (empty,) = (table for table in result.tables if table.table == "childless")
    of_constraints = [outcome for outcome in empty.checks if outcome.constraint]
    assert len(of_constraints) == 5
    assert {outcome.status for outcome in of_constraints} == {Status.CLEAN}


def test_a_table_without_indexes_and_constraints_has_its_key_looked_at(
    catalog: Path, result: RunResult, spark: Any
) -> None:
    assert lakes.found(result, "plain") == [("primary_key", 1)]
    (repeated,) = (defect for defect in result.defects if defect.table == "plain")
    assert repeated.kind == "duplicate_primary_key"
    assert repeated.detail == "2 rows have this primary key"
    if lakes.outcome_of(result, "primary_key", "plain").engine == "native":
        assert lakes.check(catalog, spark, "plain").exit_code == 1
        assert lakes.check(catalog, spark, "nobody").exit_code == 0
