# SPDX-License-Identifier: Apache-2.0
"""Dates, instants and clocks: years 1 to 9999 of the calendar that Spark uses for all time."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scrub.codec.functions.doubt import InDoubt
from scrub.codec.functions.zones import zone_named

_MICROS = 1_000_000
_DAY = 86_400
_DAYS = (-719_162, 2_932_897)  # 0001-01-01, and the day after 9999-12-31
_FILLER = 2  # a day in the place of NULL, when no clock is in doubt
_LEVELS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": _DAY}
_CLOCK, _INSTANT = pa.timestamp("us"), pa.timestamp("us", tz="UTC")

Numbers = NDArray[np.int64]


def year(days: Any) -> Any:
    return pc.year(known_days(days)).cast(pa.int32())


def month(days: Any) -> Any:
    return pc.month(known_days(days)).cast(pa.int32())


def day(days: Any) -> Any:
    return pc.day(known_days(days)).cast(pa.int32())


def date_of(times: Any, zone: str) -> Any:
    """The date that clocks show; of a wall clock, its own."""
    shown = _shown(times, zone)
    return _as(shown // (_DAY * _MICROS), times, pa.int32()).view(pa.date32())


def midnight(days: Any, zone: str) -> Any:
    """When a day begins, which is later where clocks are set forward at midnight."""
    seconds = _numbers(known_days(days).view(pa.int32()), _FILLER) * _DAY
    return _instants(zone_named(zone).instants(seconds, first=True) * _MICROS, days)


def wall_clock_text(times: Any, zone: str) -> Any:
    """What clocks show, with as many digits behind the second as it takes."""
    clock = _as(_shown(times, zone), times, pa.int64()).view(_CLOCK)
    return pc.utf8_rtrim(pc.utf8_rtrim(clock.cast(pa.string()), characters="0"), characters=".")


def instant_shown(clock: Any, zone: str) -> Any:
    """When clocks showed a time."""
    shown = _known_micros(_micros(clock))
    seconds, micros = np.divmod(shown, _MICROS)
    return _instants(zone_named(zone).instants(seconds) * _MICROS + micros, clock)


def truncated(instants: Any, unit: str, zone: str) -> Any:
    """The last instant, not after the given one, at which clocks showed a whole unit."""
    clocks = zone_named(zone)
    shown = _shown(instants, zone) // _MICROS
    if unit in _LEVELS:
        of_unit = shown - shown % _LEVELS[unit]
        ahead = clocks.ahead(_micros(instants) // _MICROS)
        found = of_unit - ahead  # clocks that were set back since then showed it twice
        changed = clocks.ahead(found) != ahead
        if changed.any():
            found = np.where(changed, clocks.instants(of_unit), found)
    else:
        begun = pc.floor_temporal(_clock_of(shown), unit=unit.lower())
        found = clocks.instants(_numbers(begun.view(pa.int64()), 0), first=True)
    return _instants(found * _MICROS, instants)


def _clock_of(seconds: Numbers) -> Any:
    return pa.array(seconds).view(pa.timestamp("s"))


def _shown(times: Any, zone: str) -> Numbers:
    """What clocks show, in microseconds; NULL gives any number."""
    micros = _known_micros(_micros(times))
    if times.type.tz is None:
        return micros
    clocks = zone_named(zone)
    return _known_micros(micros + clocks.ahead(micros // _MICROS) * _MICROS)


def _known_micros(micros: Numbers) -> Numbers:
    low, high = (days * _DAY * _MICROS for days in _DAYS)
    if len(micros) and (micros.min() < low or micros.max() >= high):
        raise InDoubt("times outside the years 1 to 9999")
    return micros


def known_days(days: Any) -> Any:
    """The days, if all are in years that every engine writes alike."""
    numbers = _numbers(days.view(pa.int32()), _FILLER)
    if len(numbers) and (numbers.min() < _DAYS[0] or numbers.max() >= _DAYS[1]):
        raise InDoubt("dates outside the years 1 to 9999")
    return days


def _micros(times: Any) -> Numbers:
    return _numbers(times.view(pa.int64()), _FILLER * _DAY * _MICROS)


def _numbers(array: Any, filler: int) -> Numbers:
    """The numbers of an array, with some number in the place of NULL."""
    numbers: Numbers = pc.fill_null(array, filler).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _instants(micros: Numbers, like: Any) -> Any:
    return _as(_known_micros(micros), like, pa.int64()).view(_INSTANT)


def _as(numbers: Numbers, like: Any, arrow: pa.DataType) -> Any:
    """Numbers as an array that has NULL where another one has it."""
    mask = like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None
    return pa.array(numbers, mask=mask).cast(arrow)
