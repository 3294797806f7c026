# SPDX-License-Identifier: Apache-2.0
"""Keys that several rows have: tasks and Spark find the same, and what a model of them says."""

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checks.jobs import Jobs
from checks.keys.findings import KeyFindings
from checks.keys.repeated_keys import RepeatableKey, find_repeated, find_repeated_by_sql
from checks.keys.split_rows import Key, SplitRows
from checks.table_look import RowChoice
from scrub.model.predicate import ColumnTerm, IsNull
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

COLUMNS = key_of(
    id="int", part="string", whole="bigint", number="double", text="string", price="decimal(20,2)"
)
ID, PART, WHOLE, NUMBER, TEXT, PRICE = COLUMNS
PRIMARY_KEY = (ID, PART)
KEYS: tuple[Key, ...] = ((WHOLE,), (NUMBER,), (TEXT, WHOLE), (PRICE,), (PART, NUMBER))
Named = list[tuple[Any, Any, int]]
Find = Callable[["SparkSession", SplitRows, list[RepeatableKey]], list[KeyFindings]]


def by_tasks(
    spark: "SparkSession", rows: SplitRows, keys: list[RepeatableKey], **options: int
) -> list[KeyFindings]:
    return find_repeated(jobs_on(spark), rows, keys, PRIMARY_KEY, SALT, **options)


def by_tasks_here(
    spark: "SparkSession",
    rows: SplitRows,
    keys: list[RepeatableKey],
) -> list[KeyFindings]:
    """In this process, where violations are compared without Spark."""
    return find_repeated(IN_THIS_PROCESS, rows, keys, PRIMARY_KEY, SALT)


def by_tasks_without_room(
    spark: "SparkSession", rows: SplitRows, keys: list[RepeatableKey]
) -> list[KeyFindings]:
    """Tasks may hardly return a digest: Spark compares all rows."""
    return by_tasks(spark, rows, keys, suspects_max=1)


def by_spark(
    spark: "SparkSession", rows: SplitRows, keys: list[RepeatableKey]
) -> list[KeyFindings]:
    paths = [split.uri for split in rows.splits]
    frame = spark.read.schema(to_struct(COLUMNS)).parquet(*paths)
    return find_repeated_by_sql(jobs_on(spark), frame, keys, PRIMARY_KEY)


WAYS = pytest.mark.parametrize("find", [by_tasks, by_tasks_here, by_tasks_without_room, by_spark])


def named(findings: KeyFindings, limit: int | None = None) -> Named:
    rows = list(findings.named(Jobs(SparkSession.getActiveSession), limit))  # type: ignore[arg-type]
    findings.release()
    return [(tuple(row["primary_key"]), tuple(row["key"]), row["copies"]) for row in rows]


def random_rows(seed: int, number: int) -> list[tuple[Any, ...]]:
    chance = random.Random(seed)
    return [
        (
            chance.choice([*range(1, 60), None]),
            chance.choice(["a", "b"]),
            chance.choice([*range(40), None]),
            chance.choice([0.0, -0.0, math.nan, None, *map(float, range(1, 60))]),
            chance.choice(["", "a", "A", "ä", None, *map(str, range(30))]),
            chance.choice([None, *(Decimal(cents) / 100 for cents in range(-30, 30))]),
        )
        for _ in range(number)
    ]


def model(rows: list[tuple[Any, ...]], key: Key, *, is_primary: bool) -> Counter[Any]:
    """The primary keys that are reported, and how often; a line stands for all copies of a row.

    A row without a whole primary key is no copy of another, though a line looks the same.
    """
    positions = [COLUMNS.index(column) for column in key]
    by_key: dict[Any, dict[Any, Any]] = {}
    for place, row in enumerate(rows):
        values = tuple(row[position] for position in positions)
        if None not in values:
            is_copy = not is_primary and None not in row[:2]
            same = by_key.setdefault(tuple(map(_plain, values)), {})
            same[row[:2] if is_copy else place] = tuple(v and str(v) for v in row[:2])
    lines = (set(same.values()) for same in by_key.values() if len(same) > 1)
    return Counter(line for some in lines for line in some)


def _plain(value: Any) -> Any:
    """Equal values as equal ones of Python."""
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else value + 0.0


@WAYS
def test_all_ways_find_what_a_model_finds(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    rows = random_rows(7, 90)
    splits = splits_of(tmp_path / "rows", table_of(COLUMNS, rows), files=3)
    keys = [RepeatableKey(columns=key) for key in KEYS]
    keys.append(RepeatableKey(columns=PRIMARY_KEY, is_primary=True))
    found = find(spark, splits, keys)
    for key, findings in zip(keys, found, strict=True):
        expected = model(rows, key.columns, is_primary=key.is_primary)
        assert expected, "the rows repeat no such key: the test shows nothing"
        assert findings.violations == expected.total()
        assert findings.rows == len(rows)
        assert Counter(line[0] for line in named(findings)) == expected


PLANTED = [
    (1, "a", 10, 0.0, "x", None),
    (2, "a", 10, None, None, None),  # shares 10 with row 1
    (3, "a", None, -0.0, None, None),  # shares zero with row 1
    (3, "a", None, -0.0, None, None),  # a copy of the row before, and once more:
    (3, "a", None, -0.0, None, None),
    (4, "a", None, math.nan, "x", None),
    (5, "a", None, math.nan, "X", None),
    (6, "a", 11, 1.0, None, None),  # a copy follows, which is no violation of a unique key
    (6, "a", 11, 1.0, None, None),
]


@WAYS
def test_each_planted_repetition_is_named_with_its_rows(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    splits = splits_of(tmp_path / "rows", table_of(COLUMNS, PLANTED), files=3)
    keys = [RepeatableKey(columns=key) for key in ((WHOLE,), (NUMBER,), (TEXT,), (PRICE,))]
    primary = RepeatableKey(columns=PRIMARY_KEY, is_primary=True)
    whole, number, text, price, copies = map(named, find(spark, splits, [*keys, primary]))
    assert whole == [(("1", "a"), ("10",), 1), (("2", "a"), ("10",), 1)]
    assert [line[0] for line in number] == [("1", "a"), ("3", "a"), ("4", "a"), ("5", "a")]
    assert [line[2] for line in number] == [1, 3, 1, 1]
    assert text == [(("1", "a"), ("x",), 1), (("4", "a"), ("x",), 1)]
    assert price == []
    assert copies == [(("3", "a"), ("3", "a"), 3), (("6", "a"), ("6", "a"), 2)]


@WAYS
def test_two_keys_whose_first_digests_are_forced_to_collide_are_not_repeated(
    spark: "SparkSession", tmp_path: Path, find: Find
) -> None:
    columns = key_of(id="int", part="string", a="bigint", b="bigint")
    other = colliding((1, 2), 3)
    rows = [(1, "a", 1, 2), (2, "a", *other), (3, "a", 5, 5), (4, "a", 5, 5)]
    splits = splits_of(tmp_path / "rows", table_of(columns, rows))
    if find is by_spark:
        frame = spark.read.schema(to_struct(columns)).parquet(*(s.uri for s in splits.splits))
        key = RepeatableKey(columns=columns[2:])
        (findings,) = find_repeated_by_sql(jobs_on(spark), frame, [key], columns[:2])
    else:
        (findings,) = find(spark, splits, [RepeatableKey(columns=columns[2:])])
    assert [line[0] for line in named(findings)] == [("3", "a"), ("4", "a")]


EVERY_TYPE: dict[str, Any] = {
    "boolean": True,
    "tinyint": -128,
    "smallint": 300,
    "float": 0.1,
    "decimal(38,10)": Decimal("-12345678901234567890.0123456789"),
    "binary": b"\x00\xff",
    "date": date(1582, 10, 4),
    "timestamp": datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
    "timestamp_ntz": datetime(1, 1, 1, 0, 0, 0, 1),
}


def test_keys_of_every_type_and_name_are_named_alike(spark: "SparkSession", tmp_path: Path) -> None:
    names = {f"a `{number}`.b": of_type for number, of_type in enumerate(EVERY_TYPE)}
    columns = key_of(id="int", part="string", **names)
    rows = [(number, "a", *EVERY_TYPE.values()) for number in range(2)]
    splits = splits_of(tmp_path / "rows", table_of(columns, rows))
    keys = [RepeatableKey(columns=(column,)) for column in columns[2:]]
    keys.append(RepeatableKey(columns=columns[2:]))
    frame = spark.read.schema(to_struct(columns)).parquet(*(s.uri for s in splits.splits))
    by_sql = find_repeated_by_sql(jobs_on(spark), frame, keys, PRIMARY_KEY)
    for one, other in zip(by_tasks(spark, splits, keys), by_sql, strict=True):
        lines = named(one)
        assert [line[0] for line in lines] == [("0", "a"), ("1", "a")]
        assert named(other) == lines


def test_what_cannot_be_read_is_told_and_what_is_found_elsewhere_stands(
    spark: "SparkSession", tmp_path: Path
) -> None:
    splits = splits_of(tmp_path / "rows", table_of(COLUMNS, PLANTED), files=3)
    cut_off(splits, 2)
    (findings,) = by_tasks(spark, splits, [RepeatableKey(columns=(WHOLE,))])
    assert [split.number for split in findings.unread] == [2]
    assert (findings.rows, findings.violations) == (6, 2)
    assert len(named(findings)) == 2


def test_only_rows_that_are_looked_at_count(spark: "SparkSession", tmp_path: Path) -> None:
    splits = splits_of(tmp_path / "rows", table_of(COLUMNS, PLANTED))
    without_text = RowChoice(conditions=(IsNull(ColumnTerm("text", TEXT.type)),), columns=(TEXT,))
    chosen = replace(splits, looked_at=without_text)
    keys = [RepeatableKey(columns=(WHOLE,)), RepeatableKey(columns=(NUMBER,))]
    frame = spark.read.schema(to_struct(COLUMNS)).parquet(*(s.uri for s in splits.splits))
    for found in (
        by_tasks(spark, chosen, keys),
        find_repeated_by_sql(jobs_on(spark), frame, keys, PRIMARY_KEY, "text IS NULL"),
    ):
        assert [(one.rows, one.violations) for one in found] == [(6, 0), (6, 0)]


def test_only_as_many_are_named_as_asked_for(spark: "SparkSession", tmp_path: Path) -> None:
    splits = splits_of(tmp_path / "rows", table_of(COLUMNS, PLANTED))
    (findings,) = by_tasks(spark, splits, [RepeatableKey(columns=(NUMBER,))])
    assert findings.violations == 4
    assert [line[0] for line in named(findings, 2)] == [("1", "a"), ("3", "a")]
    assert named(findings, 0) == []


def test_no_rows_repeat_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    key = RepeatableKey(columns=(WHOLE,))
    assert by_tasks(spark, SplitRows(splits=()), [key]) == [KeyFindings(rows=0)]
    empty = splits_of(tmp_path / "rows", table_of(COLUMNS, []), files=1)
    assert by_tasks(spark, empty, [key]) == [KeyFindings(rows=0)]
    assert by_spark(spark, empty, [key]) == [KeyFindings(rows=0)]
