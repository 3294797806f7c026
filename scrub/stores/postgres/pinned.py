# SPDX-License-Identifier: Apache-2.0
"""A relation that was taken into the snapshot: how its columns are read, and where its rows lie."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scrub.errors import AccessDenied, RelationMismatch
from scrub.model.predicate import ColumnTerm
from scrub.model.relation import Split, SplitKind
from scrub.model.table import Column
from scrub.model.types import ColumnType
from scrub.stores.base import ComparedSide
from scrub.stores.postgres.column_types import ServerColumn, sql_type, value_of
from scrub.stores.postgres.comparison import ServerSide
from scrub.stores.postgres.connections import (
    SEE_ALL_ROWS,
    WITH_SCHEMA,
    Connection,
    is_not_found,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.expressions import to_sql
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import ServerRelation

PAGE_BYTES = 8192
PAGES_PER_SPLIT = 8192  # 64 MiB
BYTES_PER_ROW_GUESSED = 100


@dataclass(frozen=True, slots=True)
class PinnedRelation:
    """A relation as SQL names it, and what is computed from its rows."""

    sql: str
    columns: Mapping[str, ServerColumn]
    computed: Mapping[str, str]
    unique_keys: tuple[frozenset[str], ...]

    def is_unique(self, key: Sequence[ColumnTerm]) -> bool:
        """Whether the server lets no two rows have the same values, as they are compared."""
        # Read without a cast, which could make different values equal.
        values = {term.name for term in key if self.value(term) == identifier(term.name)}
        return any(unique <= values for unique in self.unique_keys)

    def value(self, term: ColumnTerm) -> str:
        """A column, or what is computed, as an expression of the wanted type."""
        if term.name in self.computed:
            return f"({self.computed[term.name]})::{sql_type(term.type)}"
        return value_of(self.columns[term.name], term.type)

    def side(self, source: ComparedSide) -> ServerSide:
        """The relation as one side of a comparison."""
        return ServerSide(
            source=self.sql,
            primary_key=tuple(map(self.value, source.primary_key)),
            beside=tuple(to_sql(node, self.value) for node in source.beside),
            conditions=tuple(to_sql(node, self.value) for node in source.conditions),
            choice=tuple(to_sql(node, self.value) for node in source.choice),
        )

    def types(self, columns: Sequence[Column]) -> dict[str, ColumnType | None]:
        """What each column is read as: as the catalog says, if it knows the column."""
        wanted = {column.name: column.type for column in columns}
        types = {name: wanted.get(name, of.type) for name, of in self.columns.items()}
        return types | {name: wanted[name] for name in self.computed}


def demand_unfiltered(relations: Sequence[ServerRelation]) -> None:
    """Refuse relations with rows hidden by policies: a comparison without them proves nothing."""
    for relation in relations:
        if relation.is_filtered:
            raise AccessDenied(
                f"row-level security hides rows of {relation.label} from this role",
                hint=SEE_ALL_ROWS,
            )


def demand_comparable(
    relation: ServerRelation, described: Mapping[str, ServerColumn], columns: Sequence[Column]
) -> None:
    """Refuse columns that cannot be read, all in one error."""
    found = [described[column.name] for column in columns if column.name in described]
    hidden = [column.name for column in found if not column.readable]
    if hidden:
        raise AccessDenied(
            f"no permission to read {', '.join(hidden)} of {relation.label}",
            hint=relation.grant_hint,
        )
    refused = [
        f"{relation.label}: column {column.name} {column.refusal}, which cannot be compared"
        for column in found
        if column.type is None
    ]
    if refused:
        raise RelationMismatch("\n".join(refused), hint="leave the column out of the catalog")


def demand_computable(
    connection: Connection, relation: ServerRelation, columns: Sequence[Column]
) -> None:
    """Make the server parse expressions that it will compute, before anything is read."""
    psycopg = require_psycopg()
    for column in columns:
        if column.computed is None:
            continue
        query = f"SELECT ({column.computed})::{sql_type(column.type)} FROM {relation.sql}"
        try:
            with connection.transaction():
                connection.execute(f"{query} LIMIT 0")
        except psycopg.errors.ProgrammingError as error:
            raise RelationMismatch(
                f"{relation.label}: the database does not understand `{column.computed}`: "
                f"{server_message(error)}",
                hint=WITH_SCHEMA if is_not_found(error) else None,
            ) from error


@dataclass(frozen=True, slots=True)
class HeldRelation:
    """A relation that holds rows itself, and how many bytes of them."""

    relation: ServerRelation
    bytes: int

    @property
    def rows(self) -> int:
        """The estimated number of rows; for a table that was never analysed, from its size."""
        known = self.relation.rows
        return self.bytes // BYTES_PER_ROW_GUESSED if known is None else known

    def splits(self) -> Iterator[Split]:
        """Ranges of pages, where there are any."""
        relation = self.relation
        whole = Split(kind=SplitKind.POSTGRES, uri=relation.sql, bytes=self.bytes, rows=self.rows)
        if not relation.has_pages:
            yield whole
            return
        pages = self.bytes // PAGE_BYTES
        starts = range(0, max(pages, 1), PAGES_PER_SPLIT)
        for first in starts:
            # Without an end, the last one reads whatever page the snapshot's rows are on.
            last = first + PAGES_PER_SPLIT if first + PAGES_PER_SPLIT < pages else None
            yield replace(
                whole,
                bytes=self.bytes // len(starts),
                rows=self.rows // len(starts),
                pages=(first, last),
            )
