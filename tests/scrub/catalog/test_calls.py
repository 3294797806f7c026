# SPDX-License-Identifier: Apache-2.0
"""Which of Spark's functions leave Spark, with which types, and what looks alike and does not."""

import pytest

from scrub.catalog.expressions import translate, translate_native
from scrub.catalog.native_terms import native_value
from scrub.model.predicate import Call, Function, node_type
from scrub.model.table import Column, EntryColumn, Table
from scrub.model.types import parse_type

KINDS = {"id": "bigint", "small": "smallint", "tiny": "tinyint", "n": "int", "word": "string"}
KINDS |= {"day": "date", "at": "timestamp", "clock": "timestamp_ntz", "flag": "boolean"}
KINDS |= {"price": "decimal(10,2)", "ratio": "double", "bytes": "binary"}
COLUMNS = {name: parse_type(kind) for name, kind in KINDS.items()}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tiny + tiny", "tinyint"),
        ("tiny + small", "smallint"),
        ("tiny + 1", "int"),
        ("n + 2147483648", "bigint"),
        ("n - 2147483647", "int"),
        ("n * 1L", "bigint"),
        ("tiny div small", "bigint"),
        ("-small", "smallint"),
        ("abs(id)", "bigint"),
        ("coalesce(tiny, 0)", "int"),
        ("CASE WHEN flag THEN 1 ELSE id END", "bigint"),
        ("if(flag, NULL, tiny)", "tinyint"),
        ("length(word)", "int"),
        ("year(at)", "int"),
        ("date_trunc('day', at)", "timestamp"),
        ("to_date(clock)", "date"),
        ("lower(word) LIKE 'a%'", "boolean"),
        ("id % 2 = 0", "boolean"),
    ],
)
def test_a_call_has_the_type_that_spark_gives_it(text: str, kind: str) -> None:
    node = translate_native(text, COLUMNS, "UTC")
    assert node is not None
    assert str(node_type(node)) == kind
    assert translate(text, COLUMNS) is None, "no database evaluates it alike"


@pytest.mark.parametrize(
    "text",
    [
        "+word",
        "+id",
        "id / 2",
        "price + 1",
        "ratio * 2",
        "word + 1",
        "abs(price)",
        "-word",
        "upper(id)",
        "lower(bytes)",
        "initcap(word)",
        "trim(BOTH 'x' FROM word)",
        "trim(LEADING FROM word) || bytes",
        "substring(word, n)",
        "substring(bytes, 1, 2)",
        "concat_ws('-', word, word)",
        "concat(word, day)",
        "word LIKE word",
        "word LIKE 'a!%' ESCAPE '!'",
        "word ILIKE 'a%'",
        "word RLIKE 'a'",
        "try_cast(word AS int)",
        "CAST(word AS varchar(3))",
        "CAST(word AS char(3))",
        "CAST(word AS double)",
        "CAST(price AS string)",
        "CAST(ratio AS int)",
        "CAST(n AS timestamp)",
        "CAST(at AS bigint)",
        "CAST(clock AS timestamp)",
        "CAST(flag AS int)",
        "CAST(n AS decimal(10,2))",
        "to_date(word, 'yyyyMMdd')",
        "to_date(n)",
        "year(word)",
        "date_trunc('decade', at)",
        "date_trunc('D', at)",
        "date_trunc('day', day)",
        "date_trunc(word, at)",
        "trunc(day, 'month')",
        "hour(at)",
        "coalesce(word, 1)",
        "coalesce(day, at)",
        "coalesce('a', word)",
        "nullif(word, 'a')",
        "CASE WHEN flag THEN 'a' ELSE 1 END",
        "CASE WHEN flag THEN NULL END",
        "CASE WHEN word THEN 1 END",
        "n BETWEEN 1 AND 2 = flag",
        "flag = n IS NULL",
        "at = at",
        "id + INTERVAL 1 DAY",
        "lower('A')",
        "word = 'it''s'",
        "concat('a', 'b')",
        "lower(word) -- in lower case",
    ],
)
def test_what_only_looks_alike_stays_in_spark(text: str) -> None:
    assert translate_native(text, COLUMNS, "UTC") is None


@pytest.mark.parametrize("text", ["to_date(at)", "CAST(day AS timestamp)", "date_trunc('day', at)"])
def test_clocks_are_read_only_in_a_zone_that_is_given(text: str) -> None:
    assert translate_native(text, COLUMNS) is None
    assert translate_native(text, COLUMNS, "Europe/Berlin") is not None


def test_a_column_that_is_stored_wider_holds_the_same_integers() -> None:
    columns = tuple(Column(name=name, type=of) for name, of in COLUMNS.items())
    table = Table(name="t", store="s", relation="t", columns=columns, primary_key=("id",))

    def stored_as(kind: str) -> object:
        source = EntryColumn(
            name="y", source="year(day)", is_expression=True, type=parse_type(kind)
        )
        return native_value(source, table)

    assert isinstance(stored_as("int"), Call)
    wider = stored_as("bigint")
    assert isinstance(wider, Call)
    assert (wider.function, str(wider.type)) == (Function.CAST, "bigint")
    assert stored_as("smallint") is None
    assert stored_as("string") is None
