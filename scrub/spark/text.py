# SPDX-License-Identifier: Apache-2.0
"""Values as canonical text in Spark.

One text for each value, so that entries of indexes of any shape travel in one frame.
`scrub.codec.json_values` tells what a report shows for it.
"""

from typing import TYPE_CHECKING

from scrub.model.types import ColumnType, TypeName
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import Column

# One character of UTF-8 in hex, else one byte.
_CHARACTER = (
    "[0-7].|(?:C[2-9A-F]|D.)[89AB].|E0[AB].[89AB].|E[1-9A-CEF](?:[89AB].){2}|ED[89].[89AB]."
    "|F0[9AB].(?:[89AB].){2}|F[1-3](?:[89AB].){3}|F48.(?:[89AB].){2}|.."
)
_BYTE = 2  # digits
_FIRST_YEAR, _LAST_YEAR = 1, 9999
_DAY_SECONDS, _HOUR_SECONDS, _MINUTE_SECONDS, _SECOND_MICROS = 86_400, 3_600, 60, 1_000_000


def as_text(column: "Column", column_type: ColumnType) -> "Column":
    """A value as text that tells it exactly; NULL stays NULL."""
    match column_type.name:
        case TypeName.BINARY:
            return F.lower(F.hex(column))
        case TypeName.TIMESTAMP:
            # Microseconds since the epoch: the session's time zone has no say in it.
            return F.unix_micros(column).cast("string")
        case _:
            return column.cast("string")


def as_told_text(column: "Column", column_type: ColumnType) -> "Column":
    """The same as `scrub.codec.arrow_text` tells it, also of values that cannot be.

    Bytes that are not UTF-8 are spelled out, and outside the calendar a date is a number of days
    and a time one of microseconds.
    """
    text = as_text(column, column_type)
    match column_type.name:
        case TypeName.STRING:
            return F.when(F.is_valid_utf8(text), text).otherwise(_spelled_out(text))
        case TypeName.DATE:
            days = F.concat(F.unix_date(column).cast("string"), F.lit(" days"))
            is_shown = F.year(column).between(_FIRST_YEAR, _LAST_YEAR)
            return F.when(is_shown, text).otherwise(days)
        case TypeName.TIMESTAMP_NTZ:
            is_shown = F.year(column).between(_FIRST_YEAR, _LAST_YEAR)
            return F.when(is_shown, text).otherwise(_micros(column))
        case _:
            return text


def _micros(wall_clock: "Column") -> "Column":
    """As many since 1970; as decimals, because a whole day may begin before the first one."""
    day = F.unix_date(wall_clock.cast("date")).cast("decimal(12,0)") * _DAY_SECONDS
    seconds = day + F.hour(wall_clock) * _HOUR_SECONDS + F.minute(wall_clock) * _MINUTE_SECONDS
    of_minute = F.extract(F.lit("SECOND"), wall_clock)
    micros = (seconds + of_minute) * _SECOND_MICROS
    return F.concat(micros.cast("decimal(20,0)").cast("string"), F.lit(" us"))


def _spelled_out(text: "Column") -> "Column":
    characters = F.regexp_extract_all(F.hex(text), F.lit(_CHARACTER), F.lit(0))
    return F.array_join(F.transform(characters, _character), "")


def _character(octets: "Column") -> "Column":
    is_stray = (F.length(octets) == _BYTE) & (octets >= "80")
    stray = F.concat(F.lit("\\x"), F.lower(octets))
    return F.when(is_stray, stray).otherwise(F.decode(F.unhex(octets), "UTF-8"))
