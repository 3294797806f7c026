# SPDX-License-Identifier: Apache-2.0
"""Where the tasks of a plan run, and what is said about it; nothing is read."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from checks.place import in_units, place_of
from scrub.model.place import parse_size
from scrub.model.plan import CheckPlan
from scrub.model.relation import RelationFacts
from scrub.model.request import Engine, Strategy
from tests.checks.plans import a_plan, a_side

MIB = 1 << 20


def told(plan: CheckPlan, *, named: str | None = None, bytes_max: int = 10 * MIB) -> str:
    """Every relation has 2 MiB for each column that is read of it."""

    def needed(_: RelationFacts, columns: Collection[str]) -> int:
        return 2 * MIB * len(columns)

    return str(place_of(plan, spark_named=named, bytes_max=bytes_max, needed_bytes=needed))


def with_index_side(plan: CheckPlan, engine: Engine, *, in_store: bool = False) -> CheckPlan:
    (table,) = plan.tables
    (index,) = table.indexes
    side = replace(a_side(index.index.relation, engine=engine), reason="it is CSV")
    changed = replace(index, side=side, in_store=in_store)
    return replace(plan, tables=(replace(table, indexes=(changed,)),))


def test_little_is_read_in_the_process() -> None:
    assert told(a_plan("by_customer")) == "in process, 8 MiB to read, below 10 MiB"


def test_what_is_above_the_bound_is_read_on_spark() -> None:
    plan = a_plan("by_customer", "by_email")
    assert told(plan) == "on Spark, 12 MiB to read, above 10 MiB"
    assert told(plan, bytes_max=12 * MIB).startswith("in process")


def test_a_bound_of_nothing_means_spark() -> None:
    assert told(a_plan("by_customer"), bytes_max=0) == "on Spark, scrub.inProcessBytes is 0"


def test_whoever_names_spark_gets_it() -> None:
    assert told(a_plan("by_customer"), named="--master is given") == "on Spark, --master is given"


def test_joining_everything_is_for_spark() -> None:
    plan = a_plan("by_customer", strategy=Strategy.MERGE)
    assert told(plan) == "on Spark, everything is joined"


def test_what_only_spark_reads_is_named_with_the_reason() -> None:
    plan = with_index_side(a_plan("by_customer"), Engine.SQL)
    assert told(plan) == "on Spark, Spark reads orders__by_customer: it is CSV"


def test_what_a_database_compares_is_read_by_no_task() -> None:
    plan = with_index_side(a_plan("by_customer"), Engine.NATIVE, in_store=True)
    assert told(plan, bytes_max=1) == "in process, 0 bytes to read, below 1 bytes"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("17", 17), ("500MiB", 500 * MIB), ("1 GiB", 1024 * MIB), ("2g", 2048 * MIB)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "many", "1.5g", "1 GiB of it", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number of bytes"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "told"), [(0, "0 bytes"), (1023, "1.02e+03 bytes"), (1 << 30, "1 GiB")]
)
def test_sizes_are_told(size: int, told: str) -> None:
    assert in_units(size) == told
