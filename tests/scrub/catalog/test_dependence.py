# SPDX-License-Identifier: Apache-2.0
"""Which expressions depend on the time zone, and which on how letters are cased."""

import pytest

from scrub.catalog.dependence import depends_on_casing, depends_on_zone
from scrub.model.types import parse_type

COLUMNS = {
    "at": parse_type("timestamp"),
    "until": parse_type("timestamp"),
    "clock": parse_type("timestamp_ntz"),
    "day": parse_type("date"),
    "name": parse_type("string"),
    "n": parse_type("bigint"),
}


@pytest.mark.parametrize(
    "text",
    [
        "to_date(at)",
        "TO_DATE(`AT`)",
        "date_trunc('month', day)",
        "at < '2024-01-01'",
        "at >= day",
        "cast(at as string)",
        "cast(clock as timestamp)",
        "year(at)",
        "at + interval 1 month",
        "timestamp '2024-01-01 00:00' < at",
        "cast(name as timestamp) is null",
        "from_unixtime(n)",
        "date_format(name, 'yyyy')",
        "to_date(name, 'yyyy-MM-dd XXX')",
        "coalesce(at, until) > day",
        "hour(at) = 3",
    ],
)
def test_depends_on_the_zone(text: str) -> None:
    assert depends_on_zone(text, COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "at is null",
        "at",
        "at = until",
        "(at) <= (until)",
        "unix_micros(at)",
        "day = date '2024-01-01'",
        "date_format(day, 'yyyy-MM')",
        "to_date(name)",
        "to_date(name, 'yyyy-MM-dd')",
        "hour(clock)",
        "year(day)",
        "lower(name)",
        "name = 'timestamp'",
        "n + 1",
    ],
)
def test_does_not_depend_on_the_zone(text: str) -> None:
    assert not depends_on_zone(text, COLUMNS)


def test_expressions_of_postgresql() -> None:
    for text in ("at::date", "to_char(at, 'YYYY')", "name::timestamptz", "to_timestamp(n)"):
        assert depends_on_zone(text, COLUMNS, "postgres"), text
    for text in ("(at AT TIME ZONE 'Europe/Berlin')::date", "timezone('UTC', at)", "lower(name)"):
        assert not depends_on_zone(text, COLUMNS, "postgres"), text


def test_casing() -> None:
    for text in ("LOWER(name)", "lcase(name)", "initcap(name)", "name ilike 'a%'", "upper(name)"):
        assert depends_on_casing(text), text
    assert depends_on_casing("cast(interval '1' minute as string)")
    for text in ("name = 'lower'", "concat(name, 'x')", "length(name)"):
        assert not depends_on_casing(text), text
