# SPDX-License-Identifier: Apache-2.0
"""The layout of a table and its indexes as key-value pairs in CockroachDB's encoding.

Columns are known by their ids, as in the bytes. `docs/key-value.md` describes the format.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property


class DatumKind(StrEnum):
    """How a value is written; several SQL types may share one."""

    BOOL = "bool"
    INT = "int"  # also DATE (days), TIME (microseconds) and OID
    FLOAT = "float"
    DECIMAL = "decimal"
    BYTES = "bytes"  # also STRING, NAME and ENUM
    COLLATED = "collated"  # a string whose key part is its collation key
    TIMESTAMP = "timestamp"  # with or without a zone: the zone is not in the bytes
    INTERVAL = "interval"
    TIMETZ = "timetz"
    UUID = "uuid"
    INET = "inet"
    BIT = "bit"
    ARRAY = "array"


class Rule(IntEnum):
    """How the values of a column are limited, where their kind could say more."""

    ANY = 0
    BETWEEN = 1  # whole numbers, and the seconds of times, from `low` to `high`
    DIGITS = 2  # decimals of at most `low` digits before the point, and `high` behind it
    TEXT = 3  # bytes that are UTF-8, at most `high` characters
    SINGLE = 4  # floats that 32 bits can hold


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a column's type has."""

    rule: Rule = Rule.ANY
    low: int = 0
    high: int = 0


EVERY_VALUE = Domain()


@dataclass(frozen=True, slots=True)
class DatumType:
    """A kind, for an array the kind of its elements, and which values of it there are."""

    kind: DatumKind
    element: DatumKind | None = None
    domain: Domain = EVERY_VALUE  # of an array, that of its elements

    @property
    def may_be_composite(self) -> bool:
        """Whether a key may not tell the whole value, so that the rest is in the value."""
        return (self.element or self.kind) in (
            DatumKind.FLOAT,
            DatumKind.DECIMAL,
            DatumKind.COLLATED,
        )


@dataclass(frozen=True, slots=True)
class KvColumn:
    """A column, known in the bytes by its id."""

    id: int
    name: str
    type: DatumType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A column in a key."""

    column: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Columns that share one pair. `default` is set when one column may be written bare."""

    id: int
    columns: tuple[int, ...]
    default: int | None = None


@dataclass(frozen=True, slots=True)
class KvIndex:
    """A secondary index; its suffix is what the primary key adds to the indexed columns."""

    id: int
    name: str
    parts: tuple[KeyPart, ...]
    suffix: tuple[int, ...]
    stored: tuple[int, ...] = ()
    unique: bool = False
    by_family: bool = False  # stored columns of other families have entries of their own


@dataclass(frozen=True)  # no slots: what is derived is kept
class KvTable:
    """Everything one needs to know to read and write the pairs of a table."""

    id: int
    name: str
    columns: tuple[KvColumn, ...]
    primary_key: tuple[KeyPart, ...]
    families: tuple[Family, ...]
    indexes: tuple[KvIndex, ...] = ()
    primary_index_id: int = 1
    sorted: bool = False  # whether the pairs of each file come in the order of their keys

    @cached_property
    def by_id(self) -> dict[int, KvColumn]:
        return {column.id: column for column in self.columns}


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """Keys that begin with one of the prefixes: only these are looked at, or only the others."""

    prefixes: tuple[bytes, ...] = ()
    wanted: bool = False
    entries: tuple[bytes, ...] | None = None
    """Of pairs without a value, those whose keys begin so are skipped; None: all of them."""
