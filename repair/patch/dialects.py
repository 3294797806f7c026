# SPDX-License-Identifier: Apache-2.0
"""How a database writes names and values: exactly, and such that no value is taken for a statement.

A value that a dialect cannot write exactly is not written at all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from scrub.model.defect import Value
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.column_types import sql_type
from scrub.stores.postgres.quoting import literal


class Unsayable(ValueError):
    """A value that has no exact literal in a dialect."""


class Dialect(Protocol):
    """What statements of a patch need to know of a database."""

    @property
    def title(self) -> str: ...

    @property
    def begin(self) -> Sequence[str]:
        """Statements that open the transaction."""

    @property
    def from_nothing(self) -> str:
        """What a SELECT of literals needs behind them."""

    @property
    def place(self) -> str | None:
        """What tells equal entries apart; None if nothing does."""

    def locking(self, relations: Sequence[str]) -> tuple[str, ...]:
        """Statements that keep other writers away until the transaction ends."""

    def compared(self, value: Value, of_type: ColumnType) -> str:
        """A literal to compare with, of exactly this type; raises Unsayable."""

    def assigned(self, value: Value, of_type: ColumnType) -> str:
        """A literal to put into a column of whatever type the database has there."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """PostgreSQL's own."""

    title: str = "PostgreSQL"
    # The file is UTF-8 and its times say their zone, whatever the session that runs it prefers.
    begin: Sequence[str] = (
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "SET LOCAL client_encoding = 'UTF8'",
        "SET LOCAL TimeZone = 'UTC'",
    )
    from_nothing: str = ""
    place: str | None = "(tableoid, ctid)"

    def locking(self, relations: Sequence[str]) -> tuple[str, ...]:
        # Not for long: whoever comes after a waiting lock waits too.
        listed = ", ".join(relations)
        return (
            "SET LOCAL lock_timeout = '10s'",
            f"LOCK TABLE {listed} IN SHARE ROW EXCLUSIVE MODE",
        )

    def compared(self, value: Value, of_type: ColumnType) -> str:
        assigned = self.assigned(value, of_type)
        type_ = f"::{sql_type(of_type)}"
        return assigned if assigned.endswith(type_) else f"{assigned}{type_}"

    def assigned(self, value: Value, of_type: ColumnType) -> str:
        """Without a type, so that the server takes it for a value of the column's."""
        if value is None:
            return "NULL"
        match of_type.name:
            case TypeName.BOOLEAN:
                return "true" if value else "false"
            case TypeName.BINARY:
                return _quoted(f"\\x{value}")
            case _ if of_type.is_integer:
                return _number(int(value))
            case TypeName.FLOAT | TypeName.DOUBLE:
                return _quoted(str(value) if isinstance(value, str) else repr(float(value)))
            case TypeName.TIMESTAMP:
                # A column that keeps wall clocks would pass over the zone in a bare literal.
                return f"{_quoted(str(value))}::{sql_type(of_type)}"
        return _quoted(str(value))


def _quoted(text: str) -> str:
    try:
        escaped = literal(text).strip()
    except ValueError as error:
        raise Unsayable(str(error)) from error
    # Plain is easier to read, and means the same where there is no backslash.
    return escaped if "\\" in text else escaped.removeprefix("E")


@dataclass(frozen=True, slots=True)
class Derby:
    """Apache Derby's: literals have no type unless they are cast, and a row has no place."""

    title: str = "Apache Derby"
    begin: Sequence[str] = ()  # a transaction begins by itself where autocommit is off
    from_nothing: str = " FROM SYSIBM.SYSDUMMY1"
    place: str | None = None

    def locking(self, relations: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"LOCK TABLE {relation} IN EXCLUSIVE MODE" for relation in relations)

    def compared(self, value: Value, of_type: ColumnType) -> str:
        return self.assigned(value, of_type)

    def assigned(self, value: Value, of_type: ColumnType) -> str:
        type_name = _DERBY_TYPES.get(of_type.name)
        if value is None and type_name is None:
            raise Unsayable(f"NULL of type {of_type} cannot be written")
        if value is None:
            return f"CAST(NULL AS {type_name})"
        text = str(value)
        match of_type.name:
            case TypeName.BOOLEAN:
                return "TRUE" if value else "FALSE"
            case TypeName.STRING:
                return _plainly_quoted(text)
            case TypeName.FLOAT | TypeName.DOUBLE:
                return f"CAST({_approximate(float(value))} AS {type_name})"
            case TypeName.DATE | TypeName.TIMESTAMP_NTZ:
                return f"CAST({_plainly_quoted(text.replace('T', ' '))} AS {type_name})"
            case TypeName.BINARY:
                return f"X'{bytes.fromhex(text).hex()}'"
            case TypeName.TIMESTAMP:
                raise Unsayable("the database keeps no zone, so an instant cannot be written")
            case TypeName.DECIMAL:
                return _number(Decimal(text))
        return _number(int(value))


_DERBY_TYPES = {
    TypeName.BOOLEAN: "BOOLEAN",
    TypeName.TINYINT: "SMALLINT",
    TypeName.SMALLINT: "SMALLINT",
    TypeName.INT: "INTEGER",
    TypeName.BIGINT: "BIGINT",
    TypeName.FLOAT: "REAL",
    TypeName.DOUBLE: "DOUBLE",
    TypeName.DECIMAL: "DECIMAL",
    TypeName.STRING: "VARCHAR(1)",
    TypeName.DATE: "DATE",
    TypeName.TIMESTAMP_NTZ: "TIMESTAMP",
}


def _plainly_quoted(text: str) -> str:
    """Where a backslash is a character like any other."""
    return "'" + text.replace("'", "''") + "'"


def _number(value: int | Decimal) -> str:
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return f"({text})" if text.startswith("-") else text  # a cast binds before a sign


def _approximate(value: float) -> str:
    if not math.isfinite(value):
        raise Unsayable("the database has no number that is not finite")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}E{exponent or 0}"


_OF_JDBC: Mapping[str, Dialect] = {"postgresql": Postgres(), "derby": Derby()}


def dialect_of_jdbc(url: str) -> Dialect | None:
    """The dialect that a JDBC url speaks; None for one that is not known here."""
    parts = url.split(":")
    return _OF_JDBC.get(parts[1].lower()) if len(parts) > 1 else None
