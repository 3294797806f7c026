# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON: a text that is no value of its column's type raises, and never becomes NULL."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrub.errors import RelationMismatch
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.spark.strict_cast import stands_for_a_value, strict_cast
from scrub.stores.open import open_store

pytestmark = pytest.mark.spark

NO_VALUES = {
    "bigint": ["abc", "1.5", "9223372036854775808", "1e3", " "],
    "tinyint": ["128"],
    "boolean": ["maybe", "2"],
    "double": ["1,5", "x"],
    "decimal(4,2)": ["1.239", "100.00", "1.0001", "1E-3", "1..2", "", "e5", "Infinity"],
    "date": ["2024", "2024-13-01", "2023-02-29", "2024-01-01 05:00:00", "01.02.2024"],
    "timestamp": ["12:30", "2024-01-01 25:00:00", "2024-01-01T00:00:00.1234567Z", "now"],
    "timestamp_ntz": ["2024-01-01T00:00:00Z", "2024-01-01 00:00:00+02:00", "2024-01-01 noon"],
}
VALUES = {
    "bigint": ["-9223372036854775808", "+1", "007"],
    "boolean": ["true", "FALSE"],
    "double": ["NaN", "Infinity", "-0.0", "1e300"],
    "decimal(4,2)": ["99.99", "-1", "1.10", "1.1000", "0E-18", "1E+1", ".5", "1.0E-1", "0.000"],
    "date": ["2024-02-29", "0001-01-01"],
    "timestamp": [
        "2024-01-01T00:00:00.123456Z",
        "2024-01-01 00:00:00",
        "2024-01-01T01:02:03+02:00",
    ],
    "timestamp_ntz": ["2024-01-01T00:00:00.123456", "2024-01-01", "2024-01-01 00:00:00.1234560"],
}


def judged(spark: Any, texts: dict[str, list[str]]) -> list[tuple[str, str, bool]]:
    """(type, text, whether it is a value) for all texts in one job."""
    from pyspark.sql import functions as sf

    pairs = [(type_, text) for type_, some in texts.items() for text in some]
    frame = spark.createDataFrame(pairs, "type string, text string")
    verdict = sf.lit(False)
    for type_ in texts:
        right = stands_for_a_value(sf.col("text"), parse_type(type_))
        verdict = sf.when(sf.col("type") == type_, right).otherwise(verdict)
    rows: list[tuple[str, str, bool]] = frame.select("type", "text", verdict).collect()
    return rows


def test_what_is_no_value_is_told_from_what_is_one(spark: Any, ansi_mode: str) -> None:
    assert [row for row in judged(spark, NO_VALUES) if row[2]] == []
    assert [row for row in judged(spark, VALUES) if not row[2]] == []


@pytest.mark.parametrize("type_", NO_VALUES)
def test_what_is_no_value_raises(spark: Any, ansi_mode: str, type_: str) -> None:
    from pyspark.sql import functions as sf

    text = NO_VALUES[type_][0]
    frame = spark.createDataFrame([(text,), (None,)], "x string")
    with pytest.raises(Exception, match=f"column x: '{text}' is not a value of type"):
        frame.select(strict_cast(sf.col("x"), parse_type(type_), "x")).collect()


Read = Callable[..., list[Any]]


@pytest.fixture
def read(spark: Any, tmp_path: Path) -> Read:
    """Reads files given by content as a relation of a format."""

    def read(format_: str, columns: dict[str, str], *contents: str, **options: str) -> list[Any]:
        for number, content in enumerate(contents):
            path = tmp_path / "t" / f"{number}.{format_}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        wanted = [Column(name=name, type=parse_type(type_)) for name, type_ in columns.items()]
        store = open_store(
            Store(name="s", kind="spark", format=format_, path=str(tmp_path), options=options)
        )
        facts = store.pin("t", None, lambda: spark, wanted)
        frame = store.frame(spark, facts, wanted, facts.splits)
        return sorted(tuple(row) for row in frame.collect())

    return read


def test_csv_columns_are_found_by_their_header(read: Read) -> None:
    rows = read("csv", {"id": "int", "name": "string"}, 'name,extra,id\n"x",,1\n,y,2\n"",,3\n')
    assert rows == [(1, "x"), (2, None), (3, "")]


def test_csv_files_must_have_the_same_header(read: Read) -> None:
    with pytest.raises(Exception, match="header does not conform"):
        read("csv", {"a": "int", "b": "int"}, "a,b\n1,2\n", "b,a\n3,4\n")


def test_csv_without_a_header_goes_by_position(read: Read) -> None:
    rows = read("csv", {"id": "int", "name": "string"}, "1,x\n2,y\n", header="false")
    assert rows == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("line", ["1", "1,2,3"])
def test_a_csv_row_of_another_length_raises(read: Read, ansi_mode: str, line: str) -> None:
    with pytest.raises(Exception, match="Malformed"):
        read("csv", {"a": "int"}, f"a,b\n1,2\n{line}\n")


def test_line_breaks_in_csv_values_are_part_of_them(read: Read) -> None:
    rows = read("csv", {"id": "int", "s": "string"}, 'id,s\n1,"two\nlines"\n2,x\n')
    assert rows == [(1, "two\nlines"), (2, "x")]


def test_quoted_nothing_is_null_where_there_are_no_strings(read: Read) -> None:
    assert read("csv", {"id": "int", "s": "string"}, 'id,s\n"",""\n') == [(None, "")]


def test_sources_own_options_are_passed_on(read: Read) -> None:
    rows = read("csv", {"id": "int", "s": "string"}, "id;s\n1;NULL\n", sep=";", nullValue="NULL")
    assert rows == [(1, None)]


def test_csv_has_no_binary_values(read: Read) -> None:
    with pytest.raises(RelationMismatch, match="CSV has no way"):
        read("csv", {"id": "int", "b": "binary"}, "id,b\n1,x\n")


@pytest.mark.parametrize(
    "line",
    ['{"i": 1.5}', '{"i": "7"}', '{"i": 1, "d": 1.239}', '{"i": 1, "t": "2024"}'],
)
def test_json_of_another_kind_raises(read: Read, ansi_mode: str, line: str) -> None:
    types = {"i": "bigint", "d": "decimal(10,2)", "t": "date"}
    good = '{"i": 1, "d": 1.10, "t": "2024-01-01"}\n'
    with pytest.raises(Exception, match=r"FAILED_READ_FILE|not a value of type"):
        read("json", types, f"{good}{line}\n")


def test_json_columns_may_be_left_out_when_null(read: Read) -> None:
    rows = read("json", {"i": "bigint", "s": "string"}, '{"i": 1}\n', '{"i": 2, "s": "x"}\n')
    assert rows == [(1, None), (2, "x")]


def test_orc_that_is_no_orc_is_not_skipped(read: Read, tmp_path: Path, spark: Any) -> None:
    spark.range(3).coalesce(1).write.orc(f"file://{tmp_path}/t")
    with pytest.raises(Exception, match=r"0\.orc"):
        read("orc", {"id": "bigint"}, "this is no ORC file")


@pytest.mark.parametrize("format_", ["csv", "json", "orc"])
def test_partition_values_of_any_format(
    read: Read, tmp_path: Path, spark: Any, format_: str
) -> None:
    frame = spark.createDataFrame([(1, "2024-01-01"), (2, None)], "id int, day string")
    writer = frame.write.partitionBy("day").option("header", "true")
    writer.format(format_).save(f"file://{tmp_path}/t")
    rows = read(format_, {"id": "int", "day": "date"})
    assert [(number, str(day)) for number, day in rows] == [(1, "2024-01-01"), (2, "None")]
