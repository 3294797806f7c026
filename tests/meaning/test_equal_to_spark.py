# SPDX-License-Identifier: Apache-2.0
"""Whatever is evaluated without Spark has Spark's type, and Spark's value for every row.

`SCRUB_VALUES` sets how many rows there are. Rows in doubt are left to Spark; how many may be in
doubt is said beside each expression, since a function that doubts everything proves nothing.
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.catalog.expressions import translate_native
from scrub.codec.functions.doubt import InDoubt
from scrub.codec.predicate import evaluate
from scrub.model.predicate import Node, node_type
from scrub.model.types import parse_type
from tests.meaning.spark_values import NUMBER, ZONES, table_of_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPES = {
    "row": "bigint",
    "word": "string",
    "other": "string",
    "tiny": "tinyint",
    "small": "smallint",
    "number": "int",
    "another": "int",
    "big": "bigint",
    "narrow": "bigint",
    "middling": "bigint",
    "numeral": "string",
    "dated": "string",
    "timed": "string",
    "flag": "boolean",
    "day": "date",
    "recent": "date",
    "at": "timestamp",
    "clock": "timestamp_ntz",
}
COLUMNS = {name: parse_type(text) for name, text in TYPES.items()}
NONE, FEW, SOME = 0.0, 0.04, 0.25
"""At most so many rows are in doubt."""

TEXTS = {
    "lower(word)": SOME,
    "upper(word)": SOME,
    "lcase(concat(word, other))": SOME,
    "ucase(trim(word))": SOME,
    "trim(word)": NONE,
    "ltrim(word)": NONE,
    "rtrim(word)": NONE,
    "length(word)": NONE,
    "char_length(trim(word))": NONE,
    "substring(word, 1, 3)": NONE,
    "substring(word, 2)": NONE,
    "substr(word, 0, 2)": NONE,
    "substr(word, -3, 2)": NONE,
    "substring(word, -2)": NONE,
    "substring(word, -2, 9)": NONE,
    "substring(word, -9, 8)": NONE,
    "substring(word, 3, 0)": NONE,
    "substring(word, 3, -1)": NONE,
    "substring(word FROM 2 FOR 3)": NONE,
    "substring(word, 1, 2147483647)": NONE,
    "substring(word, -2147483648, 5)": NONE,
    "left(word, 2)": NONE,
    "left(word, -1)": NONE,
    "concat(word, '-', other)": NONE,
    "concat(word)": NONE,
    "concat(word, number)": NONE,
    "word || other || 'é'": NONE,
    "number || ':' || big": NONE,
    "coalesce(word, other)": NONE,
    "coalesce(word, other, '')": NONE,
    "nvl(word, 'none')": NONE,
    "ifnull(trim(word), other)": NONE,
    "word LIKE 'a%'": NONE,
    "word NOT LIKE '%X%'": NONE,
    "word LIKE '_b_'": NONE,
    "word LIKE '_'": NONE,
    "word LIKE '%_%'": NONE,
    "word LIKE '%é'": NONE,
    "word LIKE 'open'": NONE,
    "word LIKE ''": NONE,
    "word LIKE '%'": NONE,
    "word LIKE 'a.*[b]^$(|'": NONE,
    "trim(word) IN ('a', 'open', '')": NONE,
    "trim(word) = other": NONE,
    "trim(word) < 'b'": NONE,
    "length(word) BETWEEN 2 AND 4": NONE,
    "trim(word) IS NULL OR length(other) > 3": NONE,
    "trim(word) <> '' AND NOT flag": NONE,
    "CASE WHEN word LIKE 'a%' THEN 'a' WHEN flag THEN other END": NONE,
    "CASE length(word) WHEN 1 THEN 'one' WHEN 2 THEN NULL ELSE word END": NONE,
    "CASE WHEN flag THEN 1 WHEN NOT flag THEN big ELSE small END": NONE,
    "if(word LIKE '%a%', 'has', NULL)": NONE,
    "if(flag, day, NULL)": NONE,
    "CAST(flag AS string)": NONE,
    "CAST(trim(word) AS string)": NONE,
}
NUMBERS = {
    "number + another": FEW,
    "number - another": FEW,
    "middling * narrow": FEW,
    "tiny + tiny": SOME,
    "tiny - small": FEW,
    "small + small": SOME,
    "narrow * narrow % 3": FEW,
    "tiny + 1": NONE,
    "small * 3": NONE,
    "number + 1": FEW,
    "number + 2147483648": NONE,
    "number - big": FEW,
    "big * 2": FEW,
    "-tiny": FEW,
    "- narrow * narrow": FEW,
    "-big": FEW,
    "abs(tiny)": FEW,
    "abs(number)": FEW,
    "abs(-big)": FEW,
    "number % 16": NONE,
    "big % -7": NONE,
    "mod(number, another)": FEW,
    "tiny % small": FEW,
    "number div 10": NONE,
    "tiny div small": FEW,
    "big div another": FEW,
    "-number % 5 + another div 3 * 2": FEW,
    "(number + another) % 7 = 3": FEW,
    "number % 10 IN (1, 3, -5)": NONE,
    "number + another BETWEEN -10 AND small": FEW,
    "coalesce(number, 0)": NONE,
    "coalesce(tiny, small, big)": NONE,
    "coalesce(number, another) % 3": NONE,
    "CAST(tiny AS bigint)": NONE,
    "CAST(middling AS int)": FEW,
    "CAST(narrow AS smallint)": FEW,
    "narrow::tinyint": FEW,
    "int(middling)": FEW,
    "CAST(number AS string)": NONE,
    "string(tiny)": NONE,
    "CAST(big AS string)": NONE,
    "CAST(numeral AS bigint)": FEW,
    "CAST(CAST(narrow AS string) AS tinyint)": FEW,
    "CASE WHEN another <> 0 THEN number div another END": NONE,
    "CASE WHEN another = 0 THEN 0 ELSE number % another END": NONE,
    "CASE WHEN length(word) = 1 AND word BETWEEN '0' AND '9' THEN CAST(word AS int) END": NONE,
    "coalesce(another % 5, number + 1)": FEW,
    "number + 1 = another OR flag": FEW,
    "number > small AND tiny <> big": NONE,
}
DATES = {
    "year(day)": FEW,
    "month(day)": FEW,
    "day(day)": FEW,
    "dayofmonth(day)": FEW,
    "extract(MONTH FROM day)": FEW,
    "year(day) * 100 + month(day)": FEW,
    "CAST(day AS string)": FEW,
    "to_date(dated)": FEW,
    "CAST(dated AS date)": FEW,
    "to_date(day)": NONE,
    "date(clock)": FEW,
    "year(clock)": FEW,
    "CAST(clock AS string)": FEW,
    "coalesce(day, DATE '1970-01-01')": NONE,
    "to_date(clock) = day": FEW,
    "CASE WHEN day >= DATE '2000-01-01' THEN day ELSE NULL END": NONE,
}
INSTANTS = {
    "to_date(at)": FEW,
    "CAST(at AS date)": FEW,
    "CAST(at AS string)": FEW,
    "year(at)": FEW,
    "month(at)": FEW,
    "day(at)": FEW,
    "extract(DAY FROM at)": FEW,
    "at IS NOT NULL": NONE,
    "date_trunc('year', at)": FEW,
    "date_trunc('quarter', at)": FEW,
    "date_trunc('month', at)": FEW,
    "date_trunc('week', at)": FEW,
    "date_trunc('DAY', at)": FEW,
    "date_trunc('hour', at)": FEW,
    "date_trunc('minute', at)": FEW,
    "date_trunc('second', at)": FEW,
    "to_date(date_trunc('month', at))": FEW,
    "CAST(recent AS timestamp)": NONE,
    "CAST(timed AS timestamp)": FEW,
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> "Rows":
    return Rows(tmp_path_factory.mktemp("values"))


class Rows:
    """All values in a file, for Spark to evaluate expressions over."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def in_spark(
        self, spark: "SparkSession", table: pa.Table, expressions: Any, zone: str = "UTC"
    ) -> tuple[pa.Table, dict[str, str]]:
        """The value of each expression for each row, and the types."""
        given, found = self.directory / "given.parquet", str(self.directory / "found")
        pq.write_table(table, given)
        # Spark raises for some row of most expressions, and then tells nothing about others.
        settings = {
            "spark.sql.ansi.enabled": "false",
            "spark.sql.session.timeZone": zone,
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        }
        before = {name: spark.conf.get(name) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            named = [f"{text} AS e{number}" for number, text in enumerate(expressions)]
            frame = spark.read.parquet(str(given)).selectExpr("row", *named)
            types = dict(frame.dtypes)
            frame.write.mode("overwrite").parquet(found)
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)
        return pq.read_table(found).sort_by("row"), types


def decided(node: Node, batch: pa.RecordBatch) -> tuple[pa.Array, list[bool]]:
    """The values of the rows that are not in doubt, and which these are; found by halving."""
    try:
        return evaluate(node, batch), [True] * batch.num_rows
    except InDoubt:
        if batch.num_rows == 1:
            return evaluate(node, batch.slice(0, 0)), [False]
    half = batch.num_rows // 2
    (first, flags), (second, others) = (
        decided(node, batch.slice(0, half)),
        decided(node, batch.slice(half)),
    )
    return pa.concat_arrays([first, second]), flags + others


def native(text: str, zone: str = "UTC") -> Node:
    node = translate_native(text, COLUMNS, zone)
    assert node is not None, f"{text} is not translated"
    return node


def compare(spark: "SparkSession", rows: Rows, expressions: dict[str, float], zone: str) -> None:
    table = table_of_values(zone)
    (batch,) = table.combine_chunks().to_batches()
    found, types = rows.in_spark(spark, table, expressions, zone)
    faults = [
        fault
        for number, (text, doubt_max) in enumerate(expressions.items())
        for fault in faults_of(text, zone, batch, found.column(f"e{number}"), doubt_max)
    ]
    told = {
        f"e{number}": str(node_type(native(text, zone))) for number, text in enumerate(expressions)
    }
    assert not faults, "\n".join(faults)
    assert told == {name: of for name, of in types.items() if name != "row"}


def faults_of(
    text: str, zone: str, batch: pa.RecordBatch, in_spark: pa.ChunkedArray, doubt_max: float
) -> Iterator[str]:
    """How the values of an expression differ from Spark's, and whether too many are in doubt."""
    values, flags = decided(native(text, zone), batch)
    sure = pa.array(flags)
    wanted = in_spark.cast(values.type).filter(sure).combine_chunks()
    if not values.equals(wanted):
        given = batch.filter(sure)
        differ = [row for row in range(len(values)) if not values[row].equals(wanted[row])]
        first = [
            (given.slice(row, 1).to_pylist()[0], values[row], wanted[row]) for row in differ[:2]
        ]
        yield f"{text} in {zone}: {len(differ)} differ, such as {first}"
    if NUMBER - sum(flags) > doubt_max * NUMBER:
        yield f"{text} in {zone}: {NUMBER - sum(flags)} of {NUMBER} rows are in doubt"


@pytest.mark.parametrize("expressions", [TEXTS, NUMBERS, DATES], ids=["texts", "numbers", "dates"])
def test_what_needs_no_clock(spark: "SparkSession", rows: Rows, expressions: dict) -> None:
    compare(spark, rows, expressions, "UTC")


@pytest.mark.parametrize("zone", ZONES)
def test_what_clocks_show(spark: "SparkSession", rows: Rows, zone: str) -> None:
    compare(spark, rows, INSTANTS, zone)


@pytest.mark.parametrize("of_java", [False, True], ids=["icu", "java"])
def test_every_code_point_in_both_cases(spark: "SparkSession", rows: Rows, of_java: bool) -> None:
    """Alone, and behind and before a letter; Java's own casing is that of an older Unicode."""
    points = [chr(point) for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000]
    nodes = [native("lower(word)"), native("upper(word)")]
    known = [one for one in points if unicodedata.category(one) != "Cn"]
    batch = pa.RecordBatch.from_arrays([pa.array(f" {one} a{one}a " for one in known)], ["word"])
    both = [decided(node, batch)[1] for node in nodes]
    certain = [one for one, flags in zip(known, zip(*both, strict=True), strict=True) if all(flags)]
    assert len(known) - len(certain) < 400, "what Python knows is decided, but for few letters"
    unknown = sorted({*points}.difference(known))
    for text in unknown[:: len(unknown) // 500]:
        assert not any(decided(nodes[0], pa.RecordBatch.from_arrays([[text]], ["word"]))[1])
    lines = [
        "".join(f" {one} a{one}a " for one in certain[start : start + 100])
        for start in range(0, len(certain), 100)
    ]
    table = pa.table({"row": range(len(lines)), "word": lines})
    setting = "spark.sql.icu.caseMappings.enabled"
    before = spark.conf.get(setting)
    spark.conf.set(setting, str(not of_java).lower())
    try:
        found, _ = rows.in_spark(spark, table, ["lower(word)", "upper(word)"])
    finally:
        spark.conf.set(setting, before)
    (batch,) = table.combine_chunks().to_batches()
    for number, node in enumerate(nodes):
        assert evaluate(node, batch).equals(found.column(f"e{number}").combine_chunks())
