# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL database as a store: everything in a run is read at one snapshot of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.predicate import ColumnTerm, node_type
from scrub.model.relation import RelationFacts, Snapshot, Split, SplitKind, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType
from scrub.stores.base import ComparedEntries, ComparedSide, SessionProvider, Upkeep
from scrub.stores.postgres.building.standing import standing_if_kept
from scrub.stores.postgres.column_types import ServerColumn, as_sent, sql_type, value_of
from scrub.stores.postgres.comparison import EntryComparison, ServerSide
from scrub.stores.postgres.connections import (
    SEE_ALL_ROWS,
    WITH_SCHEMA,
    WORKERS,
    conninfo_of,
    is_not_found,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.expressions import to_sql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.reader import CONNINFO, SNAPSHOT, VALUE, PostgresSplitReader
from scrub.stores.postgres.relations import (
    ServerRelation,
    columns_of,
    find_relation,
    leaves_of,
    size_of,
    unique_keys_of,
)
from scrub.stores.postgres.sessions import ask, fetch
from scrub.stores.postgres.shared_snapshot import SharedSnapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAGE_BYTES = 8192
PAGES_PER_SPLIT = 8192  # 64 MiB
BYTES_PER_ROW_GUESSED = 100


@dataclass(frozen=True, slots=True)
class Described:
    """A relation that was pinned, as SQL names it, and what is computed from its rows."""

    sql: str
    columns: Mapping[str, ServerColumn]
    computed: Mapping[str, str]
    unique_keys: tuple[frozenset[str], ...]

    def is_unique(self, key: Sequence[ColumnTerm]) -> bool:
        """Whether the server lets no two rows have the same values, as they are compared."""
        values = {term.name for term in key if self._is_bare(term)}
        return any(unique <= values for unique in self.unique_keys)

    def _is_bare(self, term: ColumnTerm) -> bool:
        """Whether the column is read without a cast, which could make different values equal."""
        return self.value(term.name, term.type) == identifier(term.name)

    def value(self, name: str, wanted: ColumnType) -> str:
        """A column, or what is computed, as an expression of the wanted type."""
        if name in self.computed:
            return f"({self.computed[name]})::{sql_type(wanted)}"
        return value_of(self.columns[name], wanted)


class PostgresStore:
    """One schema of a database; the connection that holds the snapshot opens with the first pin."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self.schema = store.schema or "public"
        self._store = store
        self._snapshot: SharedSnapshot | None = None
        self._described: dict[str, Described] = {}

    @cached_property
    def conninfo(self) -> str:
        """The connection string, made when first needed: a check may not use every store."""
        return conninfo_of(self._store.url, self._store.options)

    @property
    def snapshot(self) -> SharedSnapshot:
        if self._snapshot is None:
            self._snapshot = SharedSnapshot(self.conninfo)
        return self._snapshot

    def close(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def pin(
        self,
        relation: str,
        as_of: AsOf | None,
        session: SessionProvider,  # noqa: ARG002 - the server tells everything
        columns: Sequence[Column],
    ) -> RelationFacts:
        """Lock the relation against rewrites and take it into the snapshot."""
        if as_of is not None:
            raise UsageError(
                f"store {self.name}: PostgreSQL has no versions, so there is no --as-of"
            )
        psycopg = require_psycopg()
        connection = self.snapshot.connection
        try:
            found = find_relation(connection, self.schema, relation)
            leaves = leaves_of(connection, found)
            self.snapshot.cover([found, *(leaf for leaf in leaves if leaf.oid != found.oid)])
            described = columns_of(connection, found)
            unique_keys = unique_keys_of(connection, found)
            _refuse_filtered((found, *leaves))
            held = [HeldRelation(leaf, size_of(connection, leaf)) for leaf in leaves]
        except psycopg.Error as error:
            raise StoreUnavailable(f"{relation}: {server_message(error)}") from error
        self._refuse(found, described, columns)
        self._demand_computable(found, columns)
        computed = {c.name: c.computed for c in columns if c.computed is not None}
        self._described[relation] = Described(found.sql, described, computed, unique_keys)
        wanted = {column.name: column.type for column in columns}
        types = {name: wanted.get(name, of.type) for name, of in described.items()}
        types |= {name: wanted[name] for name in computed}
        values = {
            VALUE + name: as_sent(self._described[relation].value(name, of_type), of_type)
            for name, of_type in types.items()
            if of_type is not None
        }
        return RelationFacts(
            store=self.name,
            relation=relation,
            snapshot=Snapshot(label=f"snapshot {self.snapshot.identifier}", lasting=False),
            columns={name: of.read_as(wanted.get(name)) for name, of in described.items()}
            | {name: wanted[name] for name in computed},
            splits=tuple(split for leaf in held for split in leaf.splits()),
            rows=sum(leaf.rows for leaf in held),
            bytes=sum(leaf.bytes for leaf in held),
            native=True,
            rows_estimated=True,
            storage_options={
                CONNINFO: self.conninfo,
                SNAPSHOT: self.snapshot.identifier,
                **values,
            },
        )

    def upkeep(self, table: str, index: str) -> Upkeep:
        """What the triggers of an index need, if the table has changed since they were made."""
        psycopg, connection = require_psycopg(), self.snapshot.connection
        names = IndexNames(index=index, schema=self.schema, relation_name=index)
        try:
            relation = find_relation(connection, self.schema, table)
            standing = standing_if_kept(connection, relation, names)
        except psycopg.Error as error:
            raise StoreUnavailable(f"{index}: {server_message(error)}") from error
        return Upkeep(standing.to_renew, standing.to_check) if standing else Upkeep()

    def frame(
        self, spark: "SparkSession", facts: RelationFacts, columns: Sequence[Column], splits: Splits
    ) -> "DataFrame":
        """Read splits in tasks; rows come through Python, since no JVM driver is needed so."""
        from scrub.spark.tasks import run_in_tasks
        from scrub.spark.types import to_struct

        schema = to_struct(columns)
        if not splits:
            return spark.createDataFrame([], schema)
        work = partial(
            _read, splits=tuple(splits), columns=tuple(columns), options=facts.storage_options
        )
        return run_in_tasks(spark, len(splits), work, schema)

    def compare(self, expected: ComparedSide, actual: ComparedSide) -> ComparedEntries:
        """Join both sides in the server and count."""
        comparison = self._comparison(expected, actual)
        # Who sets the number of processes in the catalog has decided.
        gives_way = WORKERS not in self._store.options
        resting = comparison.counting(resting=True) if gives_way else None
        row = ask(self.conninfo, self.snapshot, comparison.counting(), resting)
        return comparison.counted(row)

    def entries_that_differ(
        self, expected: ComparedSide, actual: ComparedSide, compared: ComparedEntries
    ) -> pa.Table:
        """Join again, this time for the rows."""
        comparison = self._comparison(expected, actual)
        query = comparison.fetching(compared.copies)
        return fetch(self.conninfo, self.snapshot, query, comparison.columns)

    def entries_sharing(self, expected: ComparedSide, key: Sequence[str]) -> pa.Table:
        """Group by the key in the server."""
        comparison = self._comparison(expected, expected)
        return fetch(self.conninfo, self.snapshot, comparison.sharing(key), comparison.columns)

    def keys_rejected(self, expected: ComparedSide, columns: Sequence[Column]) -> pa.Table:
        """Look for NULLs in columns that the catalog declares NOT NULL and the server does not."""
        described = self._described[expected.facts.relation]
        key = [(f"p{n}", term.type) for n, term in enumerate(expected.primary_key)]
        unsure = [
            f"{identifier(column.name)} IS NULL"
            for column in columns
            if not column.nullable and not described.columns[column.name].not_null
        ]
        if not unsure:
            return pa.schema([(n, to_arrow(of_type)) for n, of_type in key]).empty_table()
        side = replace(self._side(expected), conditions=(f"({' OR '.join(unsure)})",))
        values = [f"{as_sent(name, of_type)} AS {name}" for name, of_type in key]
        query = f"SELECT true AS expected, {', '.join(values)} FROM ({side.sql}) AS s"
        return fetch(self.conninfo, self.snapshot, query, key).drop_columns("expected")

    def _comparison(self, expected: ComparedSide, actual: ComparedSide) -> EntryComparison:
        keys = [
            self._described[source.facts.relation].columns[term.name].not_null
            for source in (expected, actual)
            for term in source.primary_key
        ]
        return EntryComparison(
            expected=self._side(expected),
            actual=self._side(actual),
            key_types=tuple(term.type for term in expected.primary_key),
            types=tuple(node_type(node) for node in expected.beside),
            null_keys=not all(keys),
            unique_rows=self._described[expected.facts.relation].is_unique(expected.primary_key),
        )

    def _side(self, source: ComparedSide) -> ServerSide:
        described = self._described[source.facts.relation]

        def value(term: ColumnTerm) -> str:
            return described.value(term.name, term.type)

        return ServerSide(
            source=described.sql,
            primary_key=tuple(value(term) for term in source.primary_key),
            beside=tuple(to_sql(node, value) for node in source.beside),
            conditions=tuple(to_sql(node, value) for node in source.conditions),
        )

    def _refuse(
        self,
        relation: ServerRelation,
        described: Mapping[str, ServerColumn],
        columns: Sequence[Column],
    ) -> None:
        """Refuse columns that cannot be read, all in one error."""
        found = [described[column.name] for column in columns if column.name in described]
        hidden = [column.name for column in found if not column.readable]
        if hidden:
            raise StoreUnavailable(
                f"no permission to read {', '.join(hidden)} of {relation.label}",
                hint=f"GRANT SELECT ON {relation.sql} TO the role that scrub connects as",
            )
        refused = [
            f"{relation.label}: column {column.name} {column.refusal}, which cannot be compared"
            for column in found
            if column.type is None
        ]
        if refused:
            raise RelationMismatch("\n".join(refused), hint="leave the column out of the catalog")

    def _demand_computable(self, relation: ServerRelation, columns: Sequence[Column]) -> None:
        """Make the server parse expressions that it will compute, before anything is read."""
        psycopg = require_psycopg()
        connection = self.snapshot.connection
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


def _refuse_filtered(leaves: Sequence[ServerRelation]) -> None:
    """Refuse relations with rows hidden by policies: a comparison without them proves nothing."""
    for leaf in leaves:
        if leaf.is_filtered:
            raise StoreUnavailable(
                f"row-level security hides rows of {leaf.label} from this role", hint=SEE_ALL_ROWS
            )


def _read(
    number: int,
    splits: Sequence[Split],
    columns: Sequence[Column],
    options: Mapping[str, str],
) -> Iterator[pa.RecordBatch]:
    return PostgresSplitReader(splits[number], columns, options).batches()


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
