# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF001 - letters that look alike are what casing is about
"""Values that expressions are proven with: the special ones by hand, the others by a seed."""

import os
import random
from datetime import UTC, date, datetime, timedelta
from itertools import product

import pyarrow as pa

from scrub.codec.functions.zones import zone_named

NUMBER = int(os.environ.get("SCRUB_VALUES", "10000"))
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Africa/Monrovia",
    "Pacific/Apia",
)
_NEARLY_10000 = 253_402_300_000_000_000 - 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LETTERS = (
    "aAzZ09 _%.-'\t\n\r\x0b\x00\u00a0\u2003éÉßẞİıIiĲĳŉǅǆǄﬁﬀΐΰΑΣσςΩώᾳᾼᾲ\u0345\u0301\u0307"
    "ЖжЯяԱաևⴀႠᏸᎠꭰ\U00010400\U00010428\U0001f600\U0001d49c中\ufeff\u200d\uffee\uffff"
)
SPECIAL_TEXTS = (
    *("", " ", "  ", "a", " a ", "\ta\t", "\u00a0a\u00a0", "\n", "a\nb", "abc", "ABC", "aXc"),
    *("ΑΣ", "ΑΣ ΑΣ", "Σ", "ΣΑ", "ΑΣΑ", "ΑΣΣ", "ß", "ﬁ", "İ", "I\u0307", "ǅ", "ŉ", "éa", "e\u0301a"),
    *("\U0001f600", "a\U0001f600b", "\U0001f600\U0001f600", "x%y_z", "%", "_", "open", "Open"),
    *("1", "-1", "0", "-0", "007", "+5", " 5", "5 ", "1.5", "1e3", "", "abc", "2147483647"),
    *("2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("128", "-129", "32768", "1_000", "０", "2024-02-29", "2023-02-29", "2024-2-9", "2024-13-01"),
    *("0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "1582-10-10", "2024-02-29 "),
    *("2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-01-01 00:00:00.5", "2024-01-01 24:00:00"),
    *("2024-01-01 00:00:00.123456", "2024-01-01T00:00:00", "2024-01-01 00:00:60", "2024-1-1 0:0:0"),
    *("2011-12-30 12:00:00", "2024-10-06 02:15:00", "9999-12-31 23:59:59.999999", "2024-01-01"),
)


def texts(seed: int) -> list[str | None]:
    """Texts of few and of many letters; some look like numbers, dates or times."""
    draw = random.Random(seed)
    found: list[str | None] = [None, *SPECIAL_TEXTS]
    while len(found) < NUMBER:
        kind = draw.random()
        if kind < 0.6:
            found.append("".join(draw.choices(_LETTERS, k=draw.randrange(9))))
        elif kind < 0.62:
            letters = (chr(draw.randrange(0x20, 0x2FA20)) for _ in range(draw.randrange(4)))
            found.append("".join(one for one in letters if not 0xD800 <= ord(one) < 0xE000))
        else:
            found.append("".join(draw.choices("abcXYZ 09_%", k=draw.randrange(7))))
    return found


def numerals(seed: int) -> list[str | None]:
    """Texts of which nearly all are numbers."""
    drawn = integers(64, seed)[len(SPECIAL_TEXTS) :]
    return [*SPECIAL_TEXTS, *(None if number is None else str(number) for number in drawn)]


def dates_as_text(seed: int) -> list[str | None]:
    """Texts of which nearly all are dates."""
    draw = random.Random(seed)
    drawn = (draw.randrange(1, 3_652_060) for _ in range(NUMBER - len(SPECIAL_TEXTS)))
    return [*SPECIAL_TEXTS, *(str(date.fromordinal(number)) for number in drawn)]


def times_as_text(zone: str, seed: int) -> list[str | None]:
    """Texts of which nearly all are what clocks show, around changes of a zone's clocks too."""
    found: list[str | None] = [*SPECIAL_TEXTS]
    for micros in instants(zone, seed)[len(SPECIAL_TEXTS) :]:
        moment = _EPOCH + timedelta(microseconds=min(max(micros or 0, 0), _NEARLY_10000))
        # A clock in UTC differs from the zone's by hours: near enough for some to be at a change.
        shown = moment + timedelta(seconds=int(zone_named(zone).near.offsets[-1]))
        text = shown.replace(tzinfo=None).isoformat(" ")
        found.append(text.rstrip("0") if "." in text else text)
    return found


def integers(bits: int, seed: int) -> list[int | None]:
    """Integers near every power of two, and any others."""
    draw, limit = random.Random(seed), 1 << (bits - 1)
    near = [
        sign * (1 << power) + by for power, sign, by in product(range(bits), (1, -1), range(-2, 3))
    ]
    found: list[int | None] = [None, 0, -limit, limit - 1]
    found += [number for number in near if -limit <= number < limit]
    while len(found) < NUMBER:
        number = draw.randrange(-(1 << draw.randrange(bits)), 1 << draw.randrange(bits))
        found.append(min(number, limit - 1))
    draw.shuffle(found)
    return found[:NUMBER]


def narrow(bits: int, seed: int) -> list[int | None]:
    """Integers of which nearly all fit into fewer bits."""
    wide, few = integers(64, seed), integers(bits, seed + 1)
    return [wide[row] if row % 50 == 0 else few[row] for row in range(NUMBER)]


def days(seed: int) -> list[int | None]:
    """Dates as days since 1970: years 1 to 9999, and some beyond."""
    draw = random.Random(seed)
    found: list[int | None] = [None, 0, -1, -719_162, 2_932_896, -719_163, 2_932_897, -141_428]
    while len(found) < NUMBER:
        near = draw.random() < 0.8
        found.append(
            draw.randrange(-30_000, 60_000) if near else draw.randrange(-719_162, 2_932_897)
        )
    return found


def recent_days(zone: str, seed: int) -> list[int | None]:
    """Days since 1970: those around each change of the zone's clocks, and any others."""
    draw = random.Random(seed)
    changes = (zone_named(zone).near.changes // 86_400).tolist()
    found: list[int | None] = [None, *(day + by for day in changes for by in (-1, 0, 1))]
    while len(found) < NUMBER:
        found.append(draw.randrange(2, draw.choice((30_000, 2_932_896))))
    return found[:NUMBER]


def instants(zone: str, seed: int) -> list[int | None]:
    """Instants in microseconds: around each change of the zone's clocks, and any others."""
    draw = random.Random(seed)
    found: list[int | None] = [None, 0, -1, 1, 253_402_300_799_999_999, -62_135_596_800_000_000]
    for change in zone_named(zone).near.changes.tolist():
        for hours in (-25, -24, -2, -1, 0, 1, 2, 23, 24):
            second = change + hours * 3_600
            found += [second * 1_000_000 + by for by in (-1, 0, 1, 1_800_000_000)]
    draw.shuffle(found)
    del found[NUMBER // 2 :]
    while len(found) < NUMBER:
        kind = draw.random()
        if kind < 0.8:
            found.append(draw.randrange(0, 1 << 52))
        elif kind < 0.99:
            found.append(draw.randrange(1 << 52, 253_402_300_800_000_000))
        else:
            found.append(draw.randrange(-62_135_596_800_000_000, 0))
    return found


def table_of_values(zone: str = "UTC") -> pa.Table:
    """A row for each value, in a column of each type."""
    return pa.table(
        {
            "row": pa.array(range(NUMBER), pa.int64()),
            "word": pa.array(texts(1), pa.string()),
            "other": pa.array(texts(2), pa.string()),
            "tiny": pa.array(integers(8, 3), pa.int8()),
            "small": pa.array(integers(16, 4), pa.int16()),
            "number": pa.array(integers(32, 5), pa.int32()),
            "another": pa.array(integers(32, 6), pa.int32()),
            "big": pa.array(integers(64, 7), pa.int64()),
            "narrow": pa.array(narrow(7, 12), pa.int64()),
            "middling": pa.array(narrow(31, 13), pa.int64()),
            "numeral": pa.array(numerals(14), pa.string()),
            "dated": pa.array(dates_as_text(15), pa.string()),
            "timed": pa.array(times_as_text(zone, 16), pa.string()),
            "flag": pa.array([None if n is None else n % 2 == 0 for n in integers(16, 8)]),
            "day": pa.array(days(9), pa.int32()).view(pa.date32()),
            "recent": pa.array(recent_days(zone, 17), pa.int32()).view(pa.date32()),
            "at": pa.array(instants(zone, 10), pa.int64()).view(pa.timestamp("us", tz="UTC")),
            "clock": pa.array(instants("UTC", 11), pa.int64()).view(pa.timestamp("us")),
        }
    )
