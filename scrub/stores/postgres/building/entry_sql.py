# SPDX-License-Identifier: Apache-2.0
"""An index table and the entries that rows have in it, as SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrub.catalog.expressions import translate
from scrub.catalog.spelling import did_you_mean
from scrub.errors import RelationMismatch, UsageError
from scrub.model.entry_shape import MARK
from scrub.model.predicate import ColumnTerm
from scrub.model.table import EntryColumn, Index, Nulls, Table
from scrub.stores.postgres.column_types import ServerColumn, sql_type
from scrub.stores.postgres.expressions import to_sql
from scrub.stores.postgres.quoting import identifier, qualified
from scrub.stores.postgres.relations import ServerRelation, columns_of, find_relation

if TYPE_CHECKING:
    import psycopg

_NAME_BYTES_MAX = 63
_GENERATED_WHEN_READ = """
    SELECT attname FROM pg_attribute
    WHERE attrelid = %s AND attgenerated = 'v' AND attname = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the table's primary key; its values travel as text."""

    name: str  # quoted
    type: str


@dataclass(frozen=True, slots=True)
class EntryPart:
    """A column of an index table, and what a row puts into it."""

    name: str  # quoted
    value: str  # an expression over the table's columns
    nullable: bool
    is_computed: bool = False


@dataclass(frozen=True, slots=True)
class Arbiter:
    """A unique index that identifies entries; all of them, or those that satisfy its condition."""

    columns: tuple[str, ...]
    condition: str | None
    owners_may_differ: bool  # whether entries of two rows can have the same key

    @property
    def target(self) -> str:
        """What ON CONFLICT calls it."""
        where = f" WHERE {self.condition}" if self.condition else ""
        return f"({', '.join(self.columns)}){where}"

    @property
    def distinct(self) -> str:
        """What SELECT needs where rows may share a key: no statement may put one twice."""
        return f"DISTINCT ON ({', '.join(self.columns)}) " if self.owners_may_differ else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySql:
    """One index of a table, with everything that statements about its entries need."""

    index: str
    schema: str
    table: str  # quoted, with its schema
    relation_name: str
    primary_key: tuple[KeyColumn, ...]
    indexed: tuple[EntryPart, ...]
    suffix: tuple[EntryPart, ...]
    stored: tuple[EntryPart, ...]
    owner: tuple[str, ...]  # the entry's columns that hold the primary key, in its order
    unique: bool
    conditions: tuple[str, ...]  # which rows have an entry: all must be true

    @property
    def parts(self) -> tuple[EntryPart, ...]:
        return self.indexed + self.suffix + self.stored

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def values(self) -> str:
        """What a row, called r, puts into each column."""
        return ", ".join(f"{part.value} AS {part.name}" for part in self.parts)

    @property
    def covered(self) -> str:
        """Whether a row has an entry, never NULL."""
        return f"(({' AND '.join(self.conditions)}) IS TRUE)" if self.conditions else "true"

    @property
    def relation(self) -> str:
        return qualified(self.schema, self.relation_name)

    @property
    def temporary(self) -> str:
        """Where writers record what they do while the index is loaded."""
        return qualified(self.schema, self.name_with("recorded"))

    @property
    def suspects(self) -> str:
        """Rows whose entry another row may have taken."""
        return qualified(self.schema, self.name_with("suspects"))

    @property
    def keeper(self) -> str:
        """The function that keeps the index when the table is written to."""
        return qualified(self.schema, self.name_with("keep"))

    @property
    def emptier(self) -> str:
        """The function that empties the index when the table is truncated."""
        return qualified(self.schema, self.name_with("truncate"))

    def name_with(self, purpose: str) -> str:
        """A name for something that belongs to the index; long ones are cut where it is safe."""
        ending = f"__{purpose}"
        room = _NAME_BYTES_MAX - len(ending.encode())
        whole = self.relation_name.encode()
        if len(whole) <= room:
            return self.relation_name + ending
        from hashlib import blake2b

        digest = blake2b(whole, digest_size=5).hexdigest()
        kept = whole[: room - len(digest) - 1].decode(errors="ignore")
        return f"{kept}_{digest}{ending}"

    @property
    def search_path(self) -> str:
        """Where names in expressions are looked up: for every writer and for the builder alike."""
        return f"pg_catalog, {identifier(self.schema)}, pg_temp"

    @property
    def computed(self) -> tuple[str, ...]:
        """What is not a column: values of expressions, and conditions."""
        values = [part.value for part in self.parts if part.is_computed]
        return (*values, *self.conditions)

    @property
    def arbiters(self) -> tuple[Arbiter, ...]:
        """Entries are identified by the indexed columns, with NULLs or copies also by their row."""
        indexed = tuple(part.name for part in self.indexed)
        whole = indexed + tuple(part.name for part in self.suffix)
        if not self.unique:
            return (Arbiter(whole, None, False),)
        nullable = [part.name for part in self.indexed if part.nullable]
        if not nullable:
            return (Arbiter(indexed, None, True),)
        known = " AND ".join(f"{name} IS NOT NULL" for name in nullable)
        unknown = " OR ".join(f"{name} IS NULL" for name in nullable)
        return (Arbiter(indexed, f"({known})", True), Arbiter(whole, f"({unknown})", False))

    @property
    def needs_equal_nulls(self) -> bool:
        """Whether NULLs must count as equal in a key, which PostgreSQL can since 15."""
        return any(part.nullable for part in self.indexed)

    def same_owner(self, left: str, right: str) -> str:
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in self.owner)

    def same_entry(self, left: str, right: str) -> str:
        """Whether two entries of one key are the same in everything else; NULLs are equal."""
        names = [*self.owner, *(part.name for part in self.stored)]
        return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}" for name in names)


def entry_sql(
    connection: "psycopg.Connection[Any]", schema: str, table: Table, index: Index
) -> EntrySql:
    """What the catalog says of an index, in the server's words; raises what cannot be built."""
    relation = find_relation(connection, schema, table.relation)
    described = columns_of(connection, relation)
    _demand_columns(relation, described, table, index)
    _demand_stored_columns(connection, relation, table)
    maker = _Maker(table, index, described)
    return EntrySql(
        index=index.name,
        schema=schema,
        table=relation.sql,
        relation_name=index.relation,
        primary_key=tuple(
            KeyColumn(identifier(name), described[name].shown) for name in table.primary_key
        ),
        indexed=tuple(map(maker.part, index.key)),
        suffix=tuple(map(maker.part, index.suffix)),
        stored=tuple(map(maker.part, index.stored)),
        owner=tuple(maker.owner(name) for name in table.primary_key),
        unique=index.unique,
        conditions=tuple(maker.conditions()),
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    table: Table
    index: Index
    described: Mapping[str, ServerColumn]

    def part(self, column: EntryColumn) -> EntryPart:
        if column.is_expression:
            return self._computed(column)
        found = self.described[column.source]
        return EntryPart(
            name=identifier(column.name),
            value=identifier(column.source),
            nullable=not found.not_null and column.source not in self.table.primary_key,
        )

    def _computed(self, column: EntryColumn) -> EntryPart:
        value = self._expression(column.source)
        if column.type is None:
            raise UsageError(
                f"index {self.index.name}: the type of {column.name} must be known to build it",
                hint=f"write type: beside `as: {column.name}` in the catalog",
            )
        of_type = sql_type(column.type)
        return EntryPart(
            identifier(column.name), f"({value})::{of_type}", nullable=True, is_computed=True
        )

    def owner(self, name: str) -> str:
        """The entry's column that holds a column of the primary key."""
        return next(
            identifier(column.name)
            for column in self.index.entry
            if column.source == name and not column.is_expression
        )

    def conditions(self) -> Sequence[str]:
        found = []
        if self.index.where is not None:
            found.append(f"({self._expression(self.index.where)})")
        if self.index.nulls is Nulls.SKIP:
            found += [f"{self.part(column).value} IS NOT NULL" for column in self.index.key]
        return found

    def _expression(self, text: str) -> str:
        """The database evaluates it; so it must be in its dialect, or mean the same everywhere."""
        if self.index.dialect == "postgres":
            return text
        types = {column.name: column.type for column in self.table.columns}
        node = translate(text, types)
        if node is None:
            raise UsageError(
                f"index {self.index.name}: `{text}` may mean something else in PostgreSQL than in "
                "Spark, so the database cannot keep this index",
                hint=self._hint_for_dialect(),
            )
        return to_sql(node, _plain_value)

    def _hint_for_dialect(self) -> str:
        """All that the catalog needs, at once: in this dialect, Spark is not asked for types."""
        hint = "write it in PostgreSQL's words and add `dialect: postgres` to the index"
        untyped = [c.name for c in self.index.entry if c.is_expression and c.type is None]
        if untyped:
            hint += f", and `type:` beside {', '.join(f'`as: {name}`' for name in untyped)}"
        return hint


def _plain_value(term: ColumnTerm) -> str:
    return f"{identifier(term.name)}::{sql_type(term.type)}"


def _demand_columns(
    relation: ServerRelation, described: Mapping[str, ServerColumn], table: Table, index: Index
) -> None:
    wanted = {column.source for column in index.entry if not column.is_expression}
    absent = sorted((wanted | set(table.primary_key)) - described.keys())
    if absent:
        raise RelationMismatch(
            f"{relation.label} has no column {', '.join(absent)}",
            hint=f"correct the catalog: {did_you_mean(absent[0], described, 'columns')}",
        )
    names = {column.name for column in index.entry}
    if MARK in names or "scrub_number" in names:
        raise UsageError(f"index {index.name}: the names {MARK} and scrub_number are scrub's own")


def _demand_stored_columns(
    connection: "psycopg.Connection[Any]", relation: ServerRelation, table: Table
) -> None:
    """Triggers see no value of columns that are generated when they are read."""
    names = [column.name for column in table.columns]
    rows = connection.execute(_GENERATED_WHEN_READ, (relation.oid, names)).fetchall()
    if rows:
        raise RelationMismatch(
            f"{relation.label}: {rows[0][0]} is a virtual generated column, which triggers cannot "
            "read, so no index can be kept on this table",
            hint="make it STORED, or leave it out of the catalog",
        )
