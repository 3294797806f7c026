# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF001 - letters that look alike are what casing is about
"""Spark's functions over Arrow, against plain Python; tests/meaning shows that Spark agrees."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.catalog.expressions import translate_native
from scrub.codec.functions import casing
from scrub.codec.functions.doubt import InDoubt
from scrub.codec.functions.zones import zone_named
from scrub.codec.predicate import evaluate, evaluate_coded, evaluate_where
from scrub.model.types import parse_type

KINDS = {"word": "string", "n": "int", "m": "int", "tiny": "tinyint", "big": "bigint", "d": "date"}
KINDS |= {"at": "timestamp", "clock": "timestamp_ntz", "flag": "boolean"}
COLUMNS = {name: parse_type(kind) for name, kind in KINDS.items()}
ARROW = {"string": pa.string(), "int": pa.int32(), "tinyint": pa.int8(), "bigint": pa.int64()}
ARROW |= {"date": pa.date32(), "boolean": pa.bool_(), "timestamp_ntz": pa.timestamp("us")}
ARROW |= {"timestamp": pa.timestamp("us", "UTC")}


def batch_of(**columns: list[Any]) -> pa.RecordBatch:
    arrays = [pa.array(values, ARROW[KINDS[name]]) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def value(text: str, zone: str = "UTC", **columns: list[Any]) -> list[Any]:
    node = translate_native(text, COLUMNS, zone)
    assert node is not None, text
    return evaluate(node, batch_of(**columns)).to_pylist()


@contextmanager
def in_doubt(reason: str) -> Iterator[None]:
    with pytest.raises(InDoubt, match=reason):
        yield


@settings(max_examples=200)
@given(st.lists(st.none() | st.text("aé\U0001f600 \n", max_size=6)), st.integers(-8, 8), st.data())
def test_a_substring_counts_code_points_from_either_end(
    words: list[str | None], start: int, data: st.DataObject
) -> None:
    length = data.draw(st.none() | st.integers(-2, 9))

    def plain(word: str) -> str:
        first = start - 1 if start > 0 else len(word) + start if start < 0 else 0
        end = len(word) if length is None else first + length
        return "".join(one for at, one in enumerate(word) if first <= at < end)

    text = f"substring(word, {start}{'' if length is None else f', {length}'})"
    assert value(text, word=words) == [None if w is None else plain(w) for w in words]


def test_only_spaces_are_trimmed() -> None:
    words = ["  a ", "\ta\n", "\u00a0a", " ", "", None]
    assert value("trim(word)", word=words) == ["a", "\ta\n", "\u00a0a", "", "", None]
    assert value("ltrim(word)", word=[" a "]) == ["a "]
    assert value("rtrim(word)", word=[" a "]) == [" a"]


def test_a_pattern_stands_for_code_points_of_any_kind() -> None:
    words = ["a\nb", "a\U0001f600b", "ab", "axxb", None]
    assert value("word LIKE 'a_b'", word=words) == [True, True, False, False, None]
    assert value("word NOT LIKE 'a%'", word=["b", "a"]) == [True, False]


def test_a_text_is_null_if_a_part_is() -> None:
    assert value("concat(word, '-', n)", word=["a", None, "b"], n=[1, 2, None]) == [
        "a-1",
        None,
        None,
    ]


def test_rows_that_are_not_ascii_are_cased_beside_others() -> None:
    words = ["Straße", "ABC", None, "ΑΣ ΑΣΑ", "İ", ""]
    assert value("lower(word)", word=words) == ["straße", "abc", None, "ας ασα", "i̇", ""]
    assert value("upper(word)", word=words[:3]) == ["STRASSE", "ABC", None]
    sliced = batch_of(word=["Ä", "A", "Ö"]).slice(1, 1)
    node = translate_native("lower(word)", COLUMNS)
    assert node is not None
    assert evaluate(node, sliced).to_pylist() == ["a"]


@pytest.mark.parametrize("word", ["ɤ", "\ua7cb", "ΑΣ.", "1Σ", "\u0378", "é\0"])
def test_letters_of_which_unicode_changed_its_mind_are_in_doubt(word: str) -> None:
    with in_doubt(r"version of Unicode|U\+0000"):
        casing.lower(pa.array(["a", word]))


def test_octets_that_are_no_text_are_in_doubt() -> None:
    octets = pa.array([b"a", b"\xff"]).cast(pa.binary())
    broken = pa.StringArray.from_buffers(2, *octets.buffers()[1:])
    batch = pa.RecordBatch.from_arrays([broken], ["word"])
    for text in ("lower(word)", "trim(word)", "length(word)", "word LIKE 'a%'", "word || 'a'"):
        node = translate_native(text, COLUMNS)
        assert node is not None
        with in_doubt("not UTF-8"):
            evaluate(node, batch)


def test_a_dictionary_is_computed_once_for_each_value() -> None:
    coded = pa.array(["A", "B", None, "A", "A"]).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([coded], ["word"])

    def coded_value(text: str) -> Any:
        node = translate_native(text, COLUMNS)
        assert node is not None
        return evaluate_coded(node, batch)

    lowered = coded_value("lower(word)")
    assert lowered.to_pylist() == ["a", "b", None, "a", "a"]
    filled = coded_value("coalesce(lower(word), 'none')")
    assert pa.types.is_dictionary(filled.type)
    assert filled.to_pylist() == ["a", "b", "none", "a", "a"]
    assert coded_value("word IS NULL OR word = 'B'").to_pylist() == [
        False,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("n + 1", {"n": [1, 2**31 - 1]}),
        ("-n", {"n": [-(2**31)]}),
        ("abs(tiny)", {"tiny": [-128]}),
        ("tiny * tiny", {"tiny": [12]}),
        ("n % m", {"n": [1], "m": [0]}),
        ("n div m", {"n": [1], "m": [0]}),
        ("CAST(big AS int)", {"big": [2**31]}),
        ("CAST(word AS int)", {"word": ["12a"]}),
        ("CAST(word AS int)", {"word": ["2147483648"]}),
        ("CAST(word AS int)", {"word": ["+5"]}),
        ("to_date(word)", {"word": ["2023-02-29"]}),
        ("to_date(word)", {"word": ["2024-2-9"]}),
        ("CAST(word AS timestamp)", {"word": ["2024-01-01 24:00:00"]}),
    ],
)
def test_where_spark_might_raise_a_row_is_in_doubt(text: str, columns: dict[str, list]) -> None:
    with in_doubt("overflows|cast of"):
        value(text, **columns)


def test_integers_divide_as_in_java() -> None:
    n, m = [7, -7, 7, -7, None], [2, 2, -2, -2, 1]
    assert value("n % m", n=n, m=m) == [1, -1, 1, -1, None]
    assert value("n div m", n=n, m=m) == [3, -3, -3, 3, None]


def test_a_value_is_computed_for_the_rows_only_that_take_it() -> None:
    choice = "CASE WHEN word LIKE '%a%' THEN -1 WHEN word <> '' THEN CAST(word AS int) END"
    assert value(choice, word=["1a", "5", "", None]) == [-1, 5, None, None]
    assert value("coalesce(n, CAST(word AS int))", n=[1, None], word=["x", "2"]) == [1, 2]
    assert value("CASE WHEN flag THEN 1 END", flag=[None, True, False]) == [None, 1, None]


def test_rows_that_nobody_asks_about_are_never_in_doubt() -> None:
    node = translate_native("n + 1", COLUMNS)
    assert node is not None
    batch = batch_of(n=[1, 2**31 - 1, None])
    found = evaluate_where(node, batch, np.array([True, False, True]))
    assert (found[0].as_py(), found[2].as_py()) == (2, None)
    with in_doubt("overflows"):
        evaluate_where(node, batch, np.array([True, True, True]))


def test_times_are_written_as_short_as_they_can_be() -> None:
    at = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 7, 1, 12, 0, 0, 120_000, UTC), None]
    wanted = ["2024-01-01 01:00:00", "2024-07-01 14:00:00.12", None]
    assert value("CAST(at AS string)", "Europe/Berlin", at=at) == wanted
    assert value("CAST(d AS string)", d=[date(1, 2, 3), date(9999, 12, 31)]) == [
        "0001-02-03",
        "9999-12-31",
    ]


def test_a_day_begins_when_its_clocks_do() -> None:
    # In Beirut, clocks went from midnight to one o'clock on 2021-03-28.
    days = [date(2021, 3, 27), date(2021, 3, 28), date(2021, 3, 29)]
    begun = value("CAST(d AS timestamp)", "Asia/Beirut", d=days)
    assert [one.hour for one in begun] == [22, 22, 21]
    at = [datetime(2021, 3, 28, 12, tzinfo=UTC)]
    assert value("date_trunc('day', at)", "Asia/Beirut", at=at) == [begun[1]]


def test_an_hour_that_comes_twice_is_the_one_that_it_was() -> None:
    first = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    at = [first, first + timedelta(hours=1)]
    begun = value("date_trunc('hour', at)", "Europe/Berlin", at=at)
    assert begun == [one.replace(minute=0) for one in at]
    text = ["2024-10-27 02:30:00", "2024-03-31 02:30:00"]
    read = value("CAST(word AS timestamp)", "Europe/Berlin", word=text)
    assert read == [first, datetime(2024, 3, 31, 1, 30, tzinfo=UTC)]


def test_years_that_no_calendar_has_are_in_doubt() -> None:
    days = pa.array([-719_163], pa.int32()).view(pa.date32())
    node = translate_native("year(d)", COLUMNS)
    assert node is not None
    with in_doubt("outside the years"):
        evaluate(node, pa.RecordBatch.from_arrays([days], ["d"]))
    with in_doubt("before 1970 in Asia/Kolkata"):
        value("to_date(at)", "Asia/Kolkata", at=[datetime(1969, 12, 31, tzinfo=UTC)])
    assert value("to_date(at)", at=[datetime(1, 1, 1, tzinfo=UTC)]) == [date(1, 1, 1)]


@pytest.mark.parametrize("name", ["Europe/Berlin", "Africa/Casablanca", "Asia/Gaza", "Asia/Tokyo"])
def test_clocks_are_those_of_the_list_of_zones(name: str) -> None:
    zone, listed, draw = zone_named(name), ZoneInfo(name), random.Random(name)
    instants = [
        draw.randrange(0, draw.choice((1 << 31, 1 << 32, 253_000_000_000))) for _ in range(2_000)
    ]
    changes = [change for change in zone.near.changes.tolist() if change > 0]
    instants += [change + by for change in changes for by in (-1, 0, 1)]
    told = zone.ahead(np.array(instants)).tolist()
    for instant, ahead in zip(instants, told, strict=True):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=instant)
        assert moment.astimezone(listed).utcoffset() == timedelta(seconds=ahead), moment
    shown = np.array(instants) + told
    back = zone.instants(shown)
    assert (zone.ahead(back) + back == shown).all()
