# SPDX-License-Identifier: Apache-2.0
"""Constraints of relations of a database: what it finds is what Spark finds in the same rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrub.model.request import Engine
from tests.checks.constraints.lakes import a_table, check, write_catalog
from tests.postgres_server import new_database

pytestmark = pytest.mark.spark

TYPES = {"id": "bigint", "name": "string", "rate": "double"}
CHECKS = {"sold": "rate > 0"}
ROWS = [
    "(1, 'a', 0.5)",
    "(NULL, 'b', -0.0)",
    "(NULL, 'b', -0.5)",
    "(NULL, NULL, -0.0)",
    "(2, NULL, 'NaN')",
    "(3, 'c', -0.0)",
    "(4, 'd', 0.0)",
]


@pytest.fixture(scope="module")
def catalog(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with new_database(postgres_url) as database:
        database.run(
            "CREATE TABLE sales (id bigint, name text, rate double precision)",
            f"INSERT INTO sales VALUES {', '.join(ROWS)}",
        )
        stores = {"shop": {"kind": "postgres", "url": database.url}}
        sales = a_table(
            TYPES, store="shop", checks=CHECKS, unique={"name": ["name"], "rate": ["rate"]}
        )
        sales["columns"]["name"]["nullable"] = False
        yield write_catalog(tmp_path_factory.mktemp("shop"), {"sales": sales}, stores)


def ids(result: Any, *kinds: str) -> list[str]:
    return sorted(d.id for d in result.defects if not kinds or d.kind in kinds)


def test_rows_without_a_key_have_one_id_each_whoever_reads_them(catalog: Path, spark: Any) -> None:
    by_server = check(catalog, spark, "sales")
    by_spark = check(catalog, spark, "sales", engine=Engine.SQL)
    assert ids(by_server) == ids(by_spark)
    of_rows = ids(by_server, "null_violation", "check_violation")
    assert len(of_rows) == len({*of_rows}) == 10
    shared = [d for d in by_server.defects if d.constraint == "rate"]
    # Rows without a key that have everything else in common are reported together.
    assert [(d.primary_key, d.index_key) for d in shared] == [
        ({"id": None}, {"rate": 0.0}),
        ({"id": 3}, {"rate": 0.0}),
        ({"id": 4}, {"rate": 0.0}),
    ]
    assert [d.primary_key for d in by_server.defects if d.constraint == "name"] == [{"id": None}]


def test_a_null_is_one_defect_with_one_id_whichever_check_is_asked_for(
    catalog: Path, spark: Any
) -> None:
    by_constraint = check(catalog, spark, "sales", checks=("constraint",))
    physical = check(catalog, spark, "sales", checks=("physical",))
    nulls = ids(by_constraint, "null_violation")
    assert len(nulls) == 5
    assert nulls == ids(physical, "null_violation")


def test_a_limit_names_as_many_and_counts_all(catalog: Path, spark: Any) -> None:
    for limit in (0, 1, 4):
        asked = ("not_null", "sold")
        result = check(catalog, spark, "sales", limit=limit, constraints=asked)
        assert (len(result.defects), result.defects_total) == (limit, 10)
