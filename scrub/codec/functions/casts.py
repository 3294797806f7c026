# SPDX-License-Identifier: Apache-2.0
"""Casts: a value that does not fit, and a text that Spark might read otherwise, are in doubt."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.functions.doubt import demand_all, doubting
from scrub.codec.functions.times import (
    date_of,
    instant_shown,
    known_days,
    midnight,
    wall_clock_text,
)

_INTEGER = "^-?[0-9]{1,19}$"
_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_MISFIT = "a cast of values that do not fit"
_UNUSUAL = "a cast of texts that Spark reads in a way of its own"


def cast(array: Any, wanted: pa.DataType, zone: str) -> Any:
    """The values in another type, as Spark casts them."""
    given = array.type
    if pa.types.is_string(given):
        return _of_text(array, wanted, zone)
    if pa.types.is_timestamp(given):
        return date_of(array, zone) if wanted == pa.date32() else wall_clock_text(array, zone)
    if pa.types.is_date32(given):
        if wanted == pa.string():
            return known_days(array).cast(wanted)
        return midnight(array, zone)
    with doubting(_MISFIT):
        return array.cast(wanted)


def _of_text(text: Any, wanted: pa.DataType, zone: str) -> Any:
    if pa.types.is_timestamp(wanted):
        return instant_shown(_read(text, _CLOCK, pa.timestamp("us")), zone)
    return _read(text, _DATE if wanted == pa.date32() else _INTEGER, wanted)


def _read(text: Any, pattern: str, wanted: pa.DataType) -> Any:
    with doubting(_UNUSUAL):
        demand_all(pc.match_substring_regex(text, pattern), _UNUSUAL)
        return text.cast(wanted)
