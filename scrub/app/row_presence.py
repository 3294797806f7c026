# SPDX-License-Identifier: Apache-2.0
"""Whether a table has rows of some keys, where its indexes are only read."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import to_table
from scrub.errors import StoreUnavailable
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Entry
from scrub.model.table import Store, Table
from scrub.model.types import TypeName
from scrub.stores.base import SessionProvider
from scrub.stores.entry_states import comparable


@dataclass(frozen=True, slots=True)
class RowPresence:
    """A table whose indexes cannot be repaired in place, and why; its rows can be asked for."""

    store: Store  # of the table
    why: str
    session: SessionProvider

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> Sequence[bool]:
        """Whether the table has a row of each primary key now."""
        match self.store.kind:
            case "postgres":
                from scrub.stores.postgres.repairs import PostgresRepairs

                with closing(PostgresRepairs(self.store)) as postgres:
                    return postgres.rows_there(table, keys)
            case "delta":
                from scrub.stores.delta_repairs import DeltaRepairs

                with closing(DeltaRepairs(self.store)) as delta:
                    return delta.rows_there(table, keys)
        return self._read(table, keys)

    def close(self) -> None:
        """Nothing is held."""

    def _read(self, table: Table, keys: Sequence[Entry]) -> list[bool]:
        """One reading of the key's columns, joined with the keys."""
        import pyarrow as pa
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.names import named
        from scrub.spark.time_zone import in_time_zone
        from scrub.spark.types import to_struct
        from scrub.stores.open import open_store

        columns = [table.column(name) for name in table.primary_key]
        # Names of our own, which no join takes for a path into a struct.
        own = [replace(column, name=f"k{number}") for number, column in enumerate(columns)]
        schema = pa.schema([(column.name, to_arrow(column.type)) for column in own])
        wanted = to_table(keys, columns).rename_columns(schema.names)
        opened = open_store(self.store)
        has_instants = any(column.type.name is TypeName.TIMESTAMP for column in columns)
        try:
            with (
                closing(opened),
                in_time_zone(self.session(), table.time_zone, has_instants) as spark,
            ):
                facts = opened.pin(table.relation, None, lambda: spark, table.columns)
                rows = opened.frame(spark, facts, columns, facts.splits)
                of_rows = rows.select(
                    *[named(c.name).alias(o.name) for c, o in zip(columns, own, strict=True)]
                )
                given = spark.createDataFrame(wanted.combine_chunks(), to_struct(own))
                found = collect_arrow(given.join(of_rows, on=schema.names, how="semi"))
        except PySparkException as error:
            text = next(iter(str(error).splitlines()), "")
            raise StoreUnavailable(
                f"table {table.name}: it could not be told which rows are there: {text}"
            ) from error
        there = set(comparable(found.cast(schema)))
        return [key in there for key in comparable(wanted)]


def keys_told_twice(defects: Sequence[Defect]) -> list[Entry]:
    """Keys that several indexes tell of and that may be lost rows': only these are worth a look."""
    dangling = [d for d in defects if d.kind is DefectKind.DANGLING and d.primary_key]
    told: dict[str, tuple[Entry, set[str | None]]] = {}
    for defect in dangling:
        key = defect.primary_key or {}
        told.setdefault(repr(sorted(key.items())), (key, set()))[1].add(defect.index)
    return [key for key, indexes in told.values() if len(indexes) > 1]
