# SPDX-License-Identifier: Apache-2.0
"""Whether a table has rows of some keys, where its indexes are only read."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import to_table
from scrub.errors import StoreUnavailable, first_line
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Entry
from scrub.model.table import Index, Store, Table
from scrub.model.types import TypeName
from scrub.stores.base import SessionProvider
from scrub.stores.entry_states import comparable, shape_by
from scrub.stores.recovering import entries_by_key, key_columns, plain_shape

if TYPE_CHECKING:
    from scrub.stores.delta.repairs import DeltaRepairs
    from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs


@dataclass(frozen=True, slots=True)
class RowPresence:
    """A table whose indexes cannot be repaired in place, and why; its rows can be asked for."""

    store: Store  # of the table
    why: str
    session: SessionProvider
    stores: Mapping[str, Store] = field(default_factory=dict)  # of the indexes, by name

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> Sequence[bool]:
        """Whether the table has a row of each primary key now."""
        if (opened := _keyed(self.store)) is not None:
            with closing(opened):
                return opened.rows_there(table, keys)
        wanted = to_table(keys, key_columns(table))
        shape = shape_by(table.primary_key, key_columns(table), table.relation)
        there = set(comparable(self._found(self.store, table, shape, wanted)))
        return [key in there for key in comparable(wanted)]

    def entries_of(
        self, table: Table, index: Index, keys: Sequence[Entry]
    ) -> Sequence[Sequence[Entry]]:
        """What an index holds of each primary key; see `EntriesByKey`."""
        store = self.stores.get(index.store, self.store).in_time_zone(table.time_zone)
        if (opened := _keyed(store)) is not None:
            with closing(opened):
                return opened.entries_of(table, index, keys)
        shape = plain_shape(table, index)
        wanted = to_table(keys, key_columns(table))
        found = self._found(store, table, shape, wanted)
        return entries_by_key(shape, wanted, found)

    def close(self) -> None:
        """Nothing is held."""

    def _found(self, store: Store, table: Table, shape: EntryShape, wanted: pa.Table) -> pa.Table:
        """What a relation holds of some keys: one reading, joined with them."""
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.names import named
        from scrub.spark.time_zone import in_time_zone
        from scrub.spark.types import to_struct
        from scrub.stores.open import open_store

        columns = shape.columns
        # Names of our own, which no join takes for a path into a struct.
        own = [replace(column, name=f"k{number}") for number, column in enumerate(columns)]
        of_keys = own[: len(shape.indexed)]
        schema = pa.schema([(column.name, to_arrow(column.type)) for column in own])
        given_names = [column.name for column in of_keys]
        opened = open_store(store)
        has_instants = any(column.type.name is TypeName.TIMESTAMP for column in columns)
        try:
            with (
                closing(opened),
                in_time_zone(self.session(), table.time_zone, has_instants) as spark,
            ):
                facts = opened.pin(shape.relation, None, lambda: spark, columns)
                rows = opened.frame(spark, facts, columns, facts.splits)
                of_rows = rows.select(
                    *[named(c.name).alias(o.name) for c, o in zip(columns, own, strict=True)]
                )
                given = spark.createDataFrame(
                    wanted.rename_columns(given_names).combine_chunks(), to_struct(of_keys)
                )
                found = collect_arrow(of_rows.join(given, on=given_names, how="semi"))
        except PySparkException as error:
            raise StoreUnavailable(
                f"{shape.relation}: could not determine which rows exist: {first_line(error)}"
            ) from error
        return found.cast(schema).rename_columns([column.name for column in columns])


def _keyed(store: Store) -> "PostgresRepairs | DeltaRepairs | None":
    """The store as one that finds rows and entries by key without Spark, if it is one."""
    match store.kind:
        case "postgres":
            from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs

            return PostgresRepairs(store)
        case "delta":
            from scrub.stores.delta.repairs import DeltaRepairs

            return DeltaRepairs(store)
    return None
