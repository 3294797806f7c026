# SPDX-License-Identifier: Apache-2.0
"""Primary keys as values that Python orders as the stream does.

History is read in the same order: text by its bytes (`COLLATE "C"`), whatever collation its column
has. A type whose order Python does not have is refused by name.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from scrub.errors import ScrubError

BOOL, BYTEA, INT8, INT2, INT4, TEXT = 16, 17, 20, 21, 23, 25
VARCHAR, DATE, TIMESTAMP, NUMERIC, UUID = 1043, 1082, 1114, 1700, 2950

IN_BYTES = frozenset({TEXT, VARCHAR})
"""Types whose columns have a collation, which is not that of a stream."""


class UnorderedKey(ScrubError):
    """A primary key cannot be compared as the database compares it."""


def _boolean(text: str) -> bool:
    return text == "t"


def _number(text: str) -> Decimal:
    if text in ("NaN", "Infinity", "-Infinity"):
        raise UnorderedKey(f"a primary key holds {text}, which has no place among the numbers")
    return Decimal(text)


def _time(text: str) -> str:
    """ISO texts are ordered as times are, within the years that have four digits."""
    if text.endswith("BC") or text[4:5] != "-":
        raise UnorderedKey(f"a primary key holds {text}, which is outside the years 1 to 9999")
    return text


_READERS: dict[int, Callable[[str], Any]] = {
    BOOL: _boolean,
    BYTEA: str,  # hexadecimal digits are ordered as bytes are
    INT2: int,
    INT4: int,
    INT8: int,
    TEXT: str,
    VARCHAR: str,
    DATE: _time,
    TIMESTAMP: _time,
    NUMERIC: _number,
    UUID: str,
}


_NAMES = {
    BOOL: "bool",
    BYTEA: "bytea",
    INT2: "int2",
    INT4: "int4",
    INT8: "int8",
    TEXT: "text",
    VARCHAR: "varchar",
    DATE: "date",
    TIMESTAMP: "timestamp",
    NUMERIC: "numeric",
    UUID: "uuid",
}


def type_sql(type_oid: int) -> str:
    """The name of a type that keys may have, for a cast."""
    return f"pg_catalog.{_NAMES[type_oid]}"


def key_reader(type_oid: int, column: str) -> Callable[[str], Any]:
    """Makes a value that can be compared from the server's text."""
    reader = _READERS.get(type_oid)
    if reader is None:
        raise UnorderedKey(
            f"the column {column} of the primary key has a type that a stream cannot put in order",
            hint="types for keys: integers, numeric, text, varchar, uuid, bytea, boolean, date, "
            "timestamp",
        )
    return reader
