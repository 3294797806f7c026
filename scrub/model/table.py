# SPDX-License-Identifier: Apache-2.0
"""Tables, their indexes, and the shape of an index entry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from scrub.model.kv import KvTable
from scrub.model.types import ColumnType

UTC = "UTC"
"""The time zone of a catalog that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A place where relations live, as the catalog describes it."""

    name: str
    kind: str  # "delta", "postgres" or "spark"
    path: str | None = None
    url: str | None = field(default=None, repr=False)  # of a database; may hold a password
    schema: str | None = None  # in the database
    format: str | None = None  # for kind "spark": parquet, orc, csv, json, jdbc, table
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    snapshot: str | None = None  # one that a session has exported: everything is read at it
    unset: tuple[str, ...] = ()  # variables it refers to and the environment does not have

    def in_time_zone(self, zone: str) -> "Store":
        """The store for a table whose expressions its server evaluates in this zone."""
        if self.kind != "postgres":
            return self
        return replace(self, options={**self.options, "TimeZone": zone})


DATABASE_PATH = "pg_catalog, pg_temp"
"""Where a database finds the names in what it computes: no schema of users is among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table, as the catalog declares it."""

    name: str
    type: ColumnType
    nullable: bool = True
    computed: str | None = None  # what the database makes of a row, in its own SQL: not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryColumn:
    """A column of an index entry, and how a row produces it."""

    name: str
    source: str  # a column's name, or the text of an expression
    is_expression: bool = False
    type: ColumnType | None = None  # None: an expression whose type Spark will tell
    descending: bool = False


class Nulls(StrEnum):
    """What an index does with a row that has NULL in an indexed column."""

    KEEP = "keep"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflects:
    """Which version of the table an index shows, when that is not the latest; one field is set."""

    version: int | None = None
    time: str | None = None
    column: str | None = None  # the index's column holding the version or time it was made from


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A secondary index: which rows it covers and what entry each of them has.

    `key` holds the indexed columns, `suffix` the primary key columns not among them, `stored` the
    rest. Key and suffix together tell which row an entry belongs to; `entry` is all three in order.
    """

    name: str
    store: str
    relation: str
    key: tuple[EntryColumn, ...]
    suffix: tuple[EntryColumn, ...]
    stored: tuple[EntryColumn, ...] = ()
    unique: bool = False
    where: str | None = None
    nulls: Nulls = Nulls.KEEP
    reflects: Reflects | None = None
    dialect: str = "spark"  # of its expressions; "postgres" leaves them to the table's database
    is_own: bool = False  # the database maintains it and knows its columns; see `relation`
    line: int = 0

    @property
    def entry(self) -> tuple[EntryColumn, ...]:
        return self.key + self.suffix + self.stored

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every expression a row must be put through: those of columns, then the predicate."""
        sources = tuple(column.source for column in self.entry if column.is_expression)
        return sources + ((self.where,) if self.where else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey:
    """Columns whose values no two rows share; a NULL among them never clashes."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Columns whose values must be a primary key of another table."""

    name: str
    columns: tuple[str, ...]
    references: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFeed:
    """Where a stream hears of the changes of a table, as the catalog describes it."""

    kind: str  # "postgres"
    slot: str
    publication: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a primary key and the indexes that should agree with it."""

    name: str
    store: str
    relation: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    indexes: tuple[Index, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    unique: tuple[UniqueKey, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    constraint_lines: Mapping[str, int] = field(default_factory=dict)  # of those the catalog names
    time_zone: str = UTC  # that its expressions are evaluated in, by every engine
    line: int = 0
    changes: ChangeFeed | None = None
    kv: KvTable | None = None  # set when rows and entries are pairs of bytes
    # The file that describes it, for commands in messages. Never part of what the table is.
    catalog: Path | None = field(default=None, compare=False, repr=False)

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, by name."""
        return {column.name: column.type for column in self.columns}

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def index(self, name: str) -> Index:
        return next(index for index in self.indexes if index.name == name)
