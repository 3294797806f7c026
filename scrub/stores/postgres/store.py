# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL database as a store: everything in a run is read at one snapshot of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.predicate import ColumnTerm, node_type
from scrub.model.relation import RelationFacts, Snapshot, Split, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.stores.base import ComparedEntries, ComparedSide, SessionProvider, Upkeep
from scrub.stores.postgres.building.standing import standing_if_kept
from scrub.stores.postgres.column_types import as_sent
from scrub.stores.postgres.comparison import EntryComparison
from scrub.stores.postgres.connections import (
    WORKERS,
    conninfo_of,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.constraints.reader import PostgresConstraintReader
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.pinned import (
    HeldRelation,
    PinnedRelation,
    demand_comparable,
    demand_computable,
    demand_unfiltered,
)
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.reader import CONNINFO, SNAPSHOT, VALUE, PostgresSplitReader
from scrub.stores.postgres.relations import (
    columns_of,
    find_relation,
    leaves_of,
    size_of,
    unique_keys_of,
)
from scrub.stores.postgres.resting import Reading, paid_afterwards, rest_needed
from scrub.stores.postgres.sessions import ask, fetch
from scrub.stores.postgres.shared_snapshot import SharedSnapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PostgresStore:
    """One schema of a database; the connection that holds the snapshot opens with the first pin."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self.schema = store.schema or "public"
        self._store = store
        self._snapshot: SharedSnapshot | None = None
        self._pinned: dict[str, PinnedRelation] = {}

    @cached_property
    def conninfo(self) -> str:
        """The connection string, made when first needed: a check may not use every store."""
        return conninfo_of(self._store.url, self._store.options)

    @property
    def snapshot(self) -> SharedSnapshot:
        if self._snapshot is None:
            self._snapshot = SharedSnapshot(self.conninfo, self._store.snapshot)
        return self._snapshot

    def reach(self) -> None:
        """Connect, which can take seconds to fail."""
        _ = self.snapshot

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
            demand_unfiltered((found, *leaves))
            held = [HeldRelation(leaf, size_of(connection, leaf)) for leaf in leaves]
        except psycopg.Error as error:
            raise StoreUnavailable(f"{relation}: {server_message(error)}") from error
        demand_comparable(found, described, columns)
        demand_computable(connection, found, columns)
        computed = {c.name: c.computed for c in columns if c.computed is not None}
        pinned = PinnedRelation(found.sql, described, computed, unique_keys)
        self._pinned[relation] = pinned
        wanted = {column.name: column.type for column in columns}
        values = {
            VALUE + name: as_sent(pinned.value(ColumnTerm(name, of_type)), of_type)
            for name, of_type in pinned.types(columns).items()
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
        reading = Reading.of(expected.facts, actual.facts)
        rest = rest_needed(reading.row_bytes, self._gives_way)
        gentler = comparison.counting(rest) if rest else None
        with paid_afterwards(reading):
            row = ask(self.conninfo, self.snapshot, comparison.counting(), gentler)
            counted = comparison.counted(row)
            if not (expected.conditions or actual.conditions):  # which leave out rows that are read
                reading.rows = counted.expected + counted.actual
        return counted

    def entries_that_differ(
        self, expected: ComparedSide, actual: ComparedSide, compared: ComparedEntries
    ) -> pa.Table:
        """Join again, this time for the rows."""
        comparison = self._comparison(expected, actual)
        query = comparison.fetching(compared.copies)
        with paid_afterwards(Reading.of(expected.facts, actual.facts)):
            return fetch(self.conninfo, self.snapshot, query, comparison.columns)

    def entries_sharing(self, expected: ComparedSide, key: Sequence[str]) -> pa.Table:
        """Group by the key in the server."""
        comparison = self._comparison(expected, expected)
        with paid_afterwards(Reading.of(expected.facts)):
            return fetch(self.conninfo, self.snapshot, comparison.sharing(key), comparison.columns)

    def keys_rejected(self, expected: ComparedSide, columns: Sequence[Column]) -> pa.Table:
        """Look for NULLs in columns that the catalog declares NOT NULL and the server does not."""
        pinned = self._pinned[expected.facts.relation]
        key = [(f"p{n}", term.type) for n, term in enumerate(expected.primary_key)]
        unsure = [
            f"{identifier(column.name)} IS NULL"
            for column in columns
            if not column.nullable and not pinned.columns[column.name].not_null
        ]
        if not unsure:
            return pa.schema([(n, to_arrow(of_type)) for n, of_type in key]).empty_table()
        every = replace(pinned.side(expected), choice=())
        side = replace(every, conditions=(f"({' OR '.join(unsure)})",))
        values = [f"{as_sent(name, of_type)} AS {name}" for name, of_type in key]
        query = f"SELECT true AS expected, {', '.join(values)} FROM ({side.where()}) AS s"
        with paid_afterwards(Reading.of(expected.facts)):
            found = fetch(self.conninfo, self.snapshot, query, key)
        return found.drop_columns("expected")

    def constraint_reader(self) -> PostgresConstraintReader:
        """What looks for violated constraints of the pinned relations, in the server."""
        return PostgresConstraintReader(self.conninfo, self.snapshot, self._pinned, self._gives_way)

    @property
    def _gives_way(self) -> bool:
        """Whether queries slow down while others write; who sets the number of workers decides."""
        return WORKERS not in self._store.options

    def _comparison(self, expected: ComparedSide, actual: ComparedSide) -> EntryComparison:
        rows, entries = (self._pinned[source.facts.relation] for source in (expected, actual))
        keys = [rows.columns[term.name].not_null for term in expected.primary_key]
        keys += [entries.columns[term.name].not_null for term in actual.primary_key]
        return EntryComparison(
            expected=rows.side(expected),
            actual=entries.side(actual),
            key_types=tuple(term.type for term in expected.primary_key),
            types=tuple(node_type(node) for node in expected.beside),
            null_keys=not all(keys),
            unique_rows=rows.is_unique(expected.primary_key),
        )


def _read(
    number: int,
    splits: Sequence[Split],
    columns: Sequence[Column],
    options: Mapping[str, str],
) -> Iterator[pa.RecordBatch]:
    return PostgresSplitReader(splits[number], columns, options).batches()
