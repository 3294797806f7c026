# SPDX-License-Identifier: Apache-2.0
"""Foreign keys without a parent: by range, by gathered keys and by Spark, with the same meaning."""

import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checks.jobs import Jobs
from checks.keys.findings import KeyFindings
from checks.keys.split_rows import Key, SplitRows
from checks.keys.unmatched_keys import Reference, find_unmatched, find_unmatched_by_sql
from scrub.spark.types import to_struct
from tests.checks.keys.ground import (
    IN_THIS_PROCESS,
    SALT,
    colliding,
    cut_off,
    jobs_on,
    key_of,
    splits_of,
    table_of,
)

pytestmark = pytest.mark.spark

PRIMARY_KEY = key_of(id="int")
Find = Callable[["SparkSession", SplitRows, SplitRows, Reference], KeyFindings]


def by_range(
    spark: "SparkSession",
    child: SplitRows,
    parent: SplitRows,
    reference: Reference,
    **options: int,
) -> KeyFindings:
    return find_unmatched(jobs_on(spark), child, parent, reference, PRIMARY_KEY, SALT, **options)


def by_range_here(
    spark: "SparkSession",
    child: SplitRows,
    parent: SplitRows,
    reference: Reference,
) -> KeyFindings:
    """In this process, where violations are compared without Spark."""
    return find_unmatched(IN_THIS_PROCESS, child, parent, reference, PRIMARY_KEY, SALT)


def by_range_without_room(
    spark: "SparkSession", child: SplitRows, parent: SplitRows, reference: Reference
) -> KeyFindings:
    """Tasks may hardly return a digest: Spark compares all rows."""
    return by_range(spark, child, parent, reference, suspects_max=1)


def by_spark(
    spark: "SparkSession", child: SplitRows, parent: SplitRows, reference: Reference
) -> KeyFindings:
    def frame(rows: SplitRows, columns: Key) -> Any:
        return spark.read.schema(to_struct(columns)).parquet(*(s.uri for s in rows.splits))

    children = frame(child, (*PRIMARY_KEY, *reference.columns))
    parents = frame(parent, reference.referred)
    return find_unmatched_by_sql(jobs_on(spark), children, parents, reference, PRIMARY_KEY)


WAYS = pytest.mark.parametrize("find", [by_range, by_range_here, by_range_without_room, by_spark])


def named(findings: KeyFindings, limit: int | None = None) -> list[tuple[Any, Any, int]]:
    rows = list(findings.named(Jobs(SparkSession.getActiveSession), limit))  # type: ignore[arg-type]
    findings.release()
    return [(tuple(row["primary_key"]), tuple(row["key"]), row["copies"]) for row in rows]


def sides(
    tmp_path: Path, reference: Reference, children: list[Any], parents: list[Any]
) -> tuple[SplitRows, SplitRows]:
    columns = (*PRIMARY_KEY, *reference.columns)
    return (
        splits_of(tmp_path / "child", table_of(columns, children), files=3),
        splits_of(tmp_path / "parent", table_of(reference.referred, parents)),
    )


@WAYS
def test_each_row_without_a_parent_is_named(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    reference = Reference(
        columns=key_of(of="int", at="double"), referred=key_of(key="bigint", place="double")
    )
    children = [
        (1, 7, 0.0),
        (2, 7, -0.0),
        (3, 7, math.nan),
        (4, 8, 0.0),  # no parent
        (5, None, 0.0),
        (6, 8, None),
        (7, None, None),
        (8, 8, 0.0),  # the same once more
        (8, 8, 0.0),  # and a copy of that
    ]
    parents = [(7, -0.0), (7, math.nan), (7, math.nan), (None, 0.0), (8 + (1 << 32), 0.0)]
    findings = find(spark, *sides(tmp_path, reference, children, parents), reference)
    assert (findings.rows, findings.violations, findings.undecided) == (9, 3, 0)
    assert [(line[0], line[1]) for line in named(findings)] == [
        (("4",), ("8", "0.0")),
        (("8",), ("8", "0.0")),
        (("8",), ("8", "0.0")),
    ]


@WAYS
def test_all_ways_find_what_a_model_finds(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    chance = random.Random(3)
    reference = Reference(
        columns=key_of(text="string", price="decimal(20,2)", day="date"),
        referred=key_of(name="string", cost="decimal(20,2)", at="date"),
    )

    def key() -> tuple[Any, ...]:
        return (
            chance.choice(["", "a", "A", "ä", None]),
            chance.choice([None, Decimal("1.10"), Decimal("-1.10"), Decimal("0.00")]),
            chance.choice([None, *range(3)]),
        )

    parents = [key() for _ in range(60)]
    children = [(number, *key()) for number in range(90)]
    there = {of for of in parents if None not in of}
    expected = Counter(
        str(number) for number, *of in children if None not in of and tuple(of) not in there
    )
    assert expected, "every row has a parent: the test shows nothing"
    findings = find(spark, *sides(tmp_path, reference, children, parents), reference)
    assert Counter(line[0][0] for line in named(findings)) == expected
    assert findings.violations == expected.total()


@WAYS
@pytest.mark.parametrize(
    ("types", "parents", "children", "without"),
    [
        (("int", "bigint"), [7, -1, 7, None], [7, -1, None, 8, 8], ["3", "4"]),
        (("bigint", "int"), [7, -1], [7, 7 + (1 << 32), -1], ["1"]),
        (("double", "double"), [0.0, math.nan], [-0.0, math.nan, 1.0], ["2"]),
        (("decimal(18,2)",) * 2, [Decimal("1.10")], [Decimal("1.1"), Decimal("-1.10")], ["1"]),
        (("decimal(20,2)",) * 2, [Decimal("1.10")], [Decimal("1.1"), Decimal("-1.10")], ["1"]),
        (("string", "string"), ["", "a"], ["a", "A", "", None], ["1"]),
    ],
    ids=str,
)
def test_keys_of_one_column(
    spark: "SparkSession",
    tmp_path: Path,
    find: Find,
    types: tuple[str, str],
    parents: list[Any],
    children: list[Any],
    without: list[str],
) -> None:
    """Most of them are told apart by one digest, which then travels alone."""
    reference = Reference(columns=key_of(of=types[0]), referred=key_of(key=types[1]))
    assert reference.is_word == (types[0] not in ("decimal(20,2)", "string"))
    rows = list(enumerate(children))
    child, parent = sides(tmp_path, reference, rows, [(value,) for value in parents])
    findings = find(spark, child, parent, reference)
    assert [line[0][0] for line in named(findings)] == without


PAIR = Reference(
    columns=key_of(a="bigint", b="bigint"), referred=key_of(first="bigint", second="bigint")
)


@WAYS
def test_a_key_whose_first_digest_is_forced_to_collide_with_a_parents_has_none(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    other = colliding((1, 2), 3)
    child, parent = sides(tmp_path, PAIR, [(1, 1, 2), (2, *other)], [(1, 2)])
    findings = find(spark, child, parent, PAIR)
    assert named(findings) == [(("2",), tuple(map(str, other)), 1)]


def test_while_a_parent_cannot_be_read_nothing_is_violated(
    spark: "SparkSession", tmp_path: Path
) -> None:
    children = [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    child, parent = sides(tmp_path, PAIR, children, [(1, 1), (2, 2)])
    cut_off(parent, 1)
    findings = by_range(spark, child, parent, PAIR)
    assert [split.number for split in findings.unread_parents] == [1]
    assert findings.unread == ()
    assert (findings.violations, findings.undecided, findings.rows) == (0, 2, 3)
    assert named(findings) == []


def test_by_sql_too_nothing_is_violated_without_all_parents(
    spark: "SparkSession", tmp_path: Path
) -> None:
    child, parent = sides(tmp_path, PAIR, [(1, 1, 1), (2, 2, 2)], [(1, 1)])
    children = spark.read.parquet(*(split.uri for split in child.splits))
    parents = spark.read.parquet(*(split.uri for split in parent.splits))
    findings = find_unmatched_by_sql(
        jobs_on(spark), children, parents, PAIR, PRIMARY_KEY, parents_whole=False
    )
    assert (findings.violations, findings.undecided) == (0, 1)
    assert named(findings) == []
    chosen = find_unmatched_by_sql(
        jobs_on(spark), children, parents, PAIR, PRIMARY_KEY, where="id = 1"
    )
    assert (chosen.rows, chosen.violations) == (1, 0)


def test_violations_stand_if_some_children_cannot_be_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    child, parent = sides(tmp_path, PAIR, [(1, 1, 1), (2, 2, 2), (3, 3, 3)], [(1, 1)])
    cut_off(child, 2)
    findings = by_range(spark, child, parent, PAIR)
    assert [split.number for split in findings.unread] == [2]
    assert (findings.violations, findings.rows) == (1, 2)
    assert [line[0] for line in named(findings)] == [("2",)]


@WAYS
def test_a_table_may_refer_to_itself(spark: "SparkSession", tmp_path: Path, find: Find) -> None:
    reference = Reference(columns=key_of(boss="int"), referred=PRIMARY_KEY)
    columns = (*PRIMARY_KEY, *reference.columns)
    rows = table_of(columns, [(1, None), (2, 1), (3, 3), (4, 9)])
    both = splits_of(tmp_path / "rows", rows)
    assert named(find(spark, both, both, reference)) == [(("4",), ("9",), 1)]


def test_a_parent_without_rows_leaves_every_key_unmatched(
    spark: "SparkSession", tmp_path: Path
) -> None:
    child, _ = sides(tmp_path, PAIR, [(1, 1, 1), (2, None, 2)], [])
    findings = by_range(spark, child, SplitRows(splits=()), PAIR)
    assert [line[0] for line in named(findings)] == [("1",)]
    assert by_range(spark, SplitRows(splits=()), child, PAIR) == KeyFindings(rows=0)
