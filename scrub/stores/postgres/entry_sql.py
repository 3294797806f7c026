# SPDX-License-Identifier: Apache-2.0
"""An index table and the entries that rows have in it, as SQL."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scrub.catalog.expressions import translate
from scrub.catalog.spelling import did_you_mean
from scrub.errors import RelationMismatch, UsageError
from scrub.model.entry_shape import MARK
from scrub.model.predicate import ColumnTerm
from scrub.model.table import EntryColumn, Index, Nulls, Table
from scrub.stores.postgres.column_types import ServerColumn, sql_type, value_of
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_parts import Arbiter, EntryPart, KeyColumn, SourceColumn
from scrub.stores.postgres.expressions import to_sql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import PARTITIONED, ServerRelation, columns_of, find_relation
from scrub.stores.postgres.sources import Sources, read_sources
from scrub.stores.row_entries import evident_type

_EQUAL = "OPERATOR(pg_catalog.=)"  # of every type that an expression can have
_GENERATED_WHEN_READ = """
    SELECT attname FROM pg_attribute
    WHERE attrelid = %s AND attgenerated = 'v' AND attname = ANY(%s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySql(IndexNames):
    """One index of a table, with everything that statements about its entries need."""

    table_name: str  # in the catalog
    table: str  # quoted, with its schema
    table_number: int
    table_owner: str
    is_partitioned: bool
    sources: tuple[SourceColumn, ...]  # all that entries are made of
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
    def typed_values(self) -> str:
        """The same in types without a length: a column may be widened later."""
        return ", ".join(f"({part.value})::{part.type} AS {part.name}" for part in self.parts)

    @property
    def covered(self) -> str:
        """Whether a row has an entry, never NULL."""
        return f"(({' AND '.join(self.conditions)}) IS TRUE)" if self.conditions else "true"

    @property
    def computed(self) -> tuple[str, ...]:
        """What is not a column: values of expressions, and conditions."""
        values = [part.value for part in self.parts if part.is_computed]
        return (*values, *self.conditions)

    @property
    def arbiters(self) -> tuple[Arbiter, ...]:
        """Entries are identified by the indexed columns, with NULLs or copies also by their row."""
        indexed, whole = self.indexed, self.indexed + self.suffix
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

    @property
    def owner_parts(self) -> tuple[EntryPart, ...]:
        """The entry's columns that hold the primary key, in its order."""
        by_name = {part.name: part for part in self.parts}
        return tuple(by_name[name] for name in self.owner)

    def same_owner(self, left: str, right: str) -> str:
        return " AND ".join(part.equal(left, right) for part in self.owner_parts)

    def same_entry(self, left: str, right: str) -> str:
        """Whether two entries of one key are the same in everything else; NULLs are equal."""
        parts = [*self.owner_parts, *self.stored]
        return " AND ".join(part.same(left, right) for part in parts)


def entry_sql(connection: Connection, schema: str, table: Table, index: Index) -> EntrySql:
    """What the catalog says of an index, in the server's words; raises what cannot be built."""
    relation = find_relation(connection, schema, table.relation)
    described = columns_of(connection, relation)
    _demand_columns(relation, described, table, index)
    _demand_stored_columns(connection, relation, table)
    sources = read_sources(connection, relation)
    maker = _Maker(table, index, described, sources)
    return EntrySql(
        index=index.name,
        schema=schema,
        table_name=table.name,
        table=relation.sql,
        table_number=relation.oid,
        table_owner=relation.owner,
        is_partitioned=relation.kind == PARTITIONED,
        relation_name=index.relation,
        sources=sources.needed(maker.columns_read()),
        primary_key=tuple(map(sources.key, table.primary_key)),
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
    sources: Sources

    def part(self, column: EntryColumn) -> EntryPart:
        if column.is_expression:
            return self._computed(column)
        found = self.described[column.source]
        return EntryPart(
            name=identifier(column.name),
            value=identifier(column.source),
            nullable=not found.not_null and column.source not in self.table.primary_key,
            type=self.sources.columns[column.source].value_type,
            equality=self.sources.equality(column.source, self.index.name),
        )

    def _computed(self, column: EntryColumn) -> EntryPart:
        value = self._expression(column.source)
        known = column.type or evident_type(column, self.table)
        assert known is not None, "an expression that means the same everywhere has one type"
        of_type = sql_type(known)
        return EntryPart(
            name=identifier(column.name),
            value=f"({value})::{of_type}",
            nullable=True,
            type=of_type,
            equality=_EQUAL,
            is_computed=True,
        )

    def owner(self, name: str) -> str:
        """The entry's column that holds a column of the primary key."""
        return next(
            identifier(column.name)
            for column in self.index.entry
            if column.source == name and not column.is_expression
        )

    def columns_read(self) -> set[str]:
        """Every column of the table that an entry follows from."""
        plain = {column.source for column in self.index.entry if not column.is_expression}
        texts = [column.source for column in self.index.entry if column.is_expression]
        texts += [self.index.where] if self.index.where is not None else []
        named = {name for text in texts for name in names_in(text, self.described)}
        return plain | named | set(self.table.primary_key)

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
        node = translate(text, self.table.types)
        if node is None:
            raise UsageError(
                f"index {self.index.name}: `{text}` may mean something else in PostgreSQL than in "
                "Spark, so the database cannot keep this index",
                hint=self._hint_for_dialect(),
            )
        return to_sql(node, self._plain_value)

    def _plain_value(self, term: ColumnTerm) -> str:
        if term.name not in self.described:
            raise RelationMismatch(
                f"{self.sources.relation.label} has no column {term.name}, which index "
                f"{self.index.name} reads",
                hint=f"correct the catalog: {did_you_mean(term.name, self.described, 'columns')}",
            )
        return value_of(self.described[term.name], term.type)

    def _hint_for_dialect(self) -> str:
        """All that the catalog needs, at once: in this dialect, nobody else is asked for types."""
        hint = "write it in PostgreSQL's words and add `dialect: postgres` to the index"
        untyped = [c.name for c in self.index.entry if c.is_expression and c.type is None]
        if untyped:
            hint += f", and `type:` beside {', '.join(f'`as: {name}`' for name in untyped)}"
        return hint


def names_in(text: str, columns: Iterable[str]) -> Iterator[str]:
    """The columns that an expression may read: all whose names are words of it, in any case.

    One too many does no harm, and one too few is refused when the index table is made.
    """
    words = {word.lower() for word in re.findall(r'"(?:[^"]|"")+"|[^\W\d][\w$]*', text)}
    for column in columns:
        if column.lower() in words or identifier(column).lower() in words:
            yield column


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


def _demand_stored_columns(connection: Connection, relation: ServerRelation, table: Table) -> None:
    """Triggers see no value of columns that are generated when they are read."""
    read = (relation.oid, list(table.types))
    rows = connection.execute(_GENERATED_WHEN_READ, read).fetchall()
    if rows:
        raise RelationMismatch(
            f"{relation.label}: {rows[0][0]} is a virtual generated column, which triggers cannot "
            "read, so no index can be kept on this table",
            hint="make it STORED, or leave it out of the catalog",
        )
