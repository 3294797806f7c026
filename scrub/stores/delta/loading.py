# SPDX-License-Identifier: Apache-2.0
"""Filling an index in Delta from one version of its table, in one commit.

Small tables are read in this process. Others go through Spark, which sorts by key across all files,
so that each file of the index covers a range of keys of its own, and which needs no more memory for
a larger table. Files of a load that was cut off are named by no commit; a vacuum removes them.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from scrub.errors import StoreUnavailable
from scrub.model.index_shape import shape_of
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta.changes import CannotFollow
from scrub.stores.delta.commit import Mark, commit_next
from scrub.stores.delta.entries import entry_schema, in_key_order
from scrub.stores.delta.entry_making import (
    NativeEntries,
    entries_of_frame,
    entry_maker,
    made_in_spark,
)
from scrub.stores.delta.files import NewFiles, add_action, remove_action
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.marks import follow_mark
from scrub.stores.delta.snapshot import DeltaSnapshot, require_writable
from scrub.stores.delta.store import DeltaStore
from scrub.stores.locations import for_spark, join, open_filesystem
from scrub.stores.row_entries import columns_for_entries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE_BYTES_MAX = 16 * 1024 * 1024
HERE_ROWS_MAX = 500_000
FILE_BYTES = 64 * 1024 * 1024
FILE_ROWS = 1_000_000
_ATTEMPTS_MAX = 20
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@dataclass(frozen=True, slots=True)
class Loader:
    """Makes all entries of one index; the index's types are resolved."""

    table: Table
    index: Index
    lake: Lake
    session: SessionProvider

    def load(
        self, version: int, still_wanted: Callable[[DeltaSnapshot], bool]
    ) -> tuple[int, int] | None:
        """Replace the entries of the index by those of a version; how many went and came.

        `still_wanted` is called with the version that the commit builds on. None: it said no.
        """
        facts = self._pin(version)
        with self.lake.latest(self.index) as snapshot:
            require_writable(snapshot)
            if not still_wanted(snapshot):
                return None
            adds, entries, discard = self._write(snapshot, facts)
        mark = Mark(follow_mark(self.table.relation), version)
        for _ in range(_ATTEMPTS_MAX):
            with self.lake.latest(self.index) as snapshot:
                if not still_wanted(snapshot):
                    discard()
                    return None
                before = snapshot.files()
                gone = int(snapshot.table.count()) if before else 0
                if commit_next(snapshot, [*adds, *map(remove_action, before)], mark):
                    return gone, entries
        raise StoreUnavailable(
            f"Delta table {self.index.relation}: others committed first, again and again"
        )

    @property
    def _tables(self) -> DeltaStore:
        return DeltaStore(self.lake.store(self.table.store))

    def _pin(self, version: int) -> RelationFacts:
        facts = self._tables.pin(
            self.table.relation, AsOf(version=version), self.session, self.table.columns
        )
        if not facts.native:
            raise CannotFollow(f"Delta table {self.table.relation}: it {facts.native_reason}")
        return facts

    def _write(
        self, snapshot: DeltaSnapshot, facts: RelationFacts
    ) -> tuple[list[Any], int, Callable[[], None]]:
        maker = entry_maker(self.table, self.index, self.lake, self.session)
        few = facts.rows is not None and facts.rows <= HERE_ROWS_MAX
        if isinstance(maker, NativeEntries) and few and (facts.bytes or 0) <= HERE_BYTES_MAX:
            shape = shape_of(self.table, self.index)
            found = list(maker.make(facts.splits, None))
            entries = pa.concat_tables([entry_schema(shape.columns).empty_table(), *found])
            new = NewFiles(snapshot)
            new.write(in_key_order(entries, shape))
            return new.adds, entries.num_rows, new.discard
        return self._write_in_spark(snapshot, facts)

    def _write_in_spark(
        self, snapshot: DeltaSnapshot, facts: RelationFacts
    ) -> tuple[list[Any], int, Callable[[], None]]:
        from scrub.spark.names import named

        columns = columns_for_entries(self.table, self.index)
        keys = [named(column.name) for column in self.index.key + self.index.suffix]
        files = max(-(-(facts.bytes or 0) // FILE_BYTES), -(-(facts.rows or 0) // FILE_ROWS), 1)
        folder = f"load-{uuid.uuid4().hex}"
        target = join(snapshot.uri, folder)
        with (
            made_in_spark(self.table, self.index, self.session, CannotFollow) as spark,
            _microseconds(spark),
        ):
            rows = self._tables.frame(spark, facts, columns, facts.splits)
            entries = entries_of_frame(self.index, rows)
            ordered = entries.repartitionByRange(files, *keys).sortWithinPartitions(*keys)
            ordered.write.option("compression", "snappy").parquet(for_spark(target))
        filesystem, path = open_filesystem(target, snapshot.options)
        adds, total = [], 0
        for info in filesystem.get_file_info(pafs.FileSelector(path)):
            if info.base_name.endswith(".parquet") and not info.base_name.startswith("."):
                metadata = pq.read_metadata(info.path, filesystem=filesystem)
                total += metadata.num_rows
                name = f"{folder}/{info.base_name}"
                if metadata.num_rows:
                    adds.append(add_action(name, info.size, {}, metadata))
        return adds, total, lambda: filesystem.delete_dir(path)


@contextmanager
def _microseconds(spark: "SparkSession") -> Iterator[None]:
    """Make Spark write timestamps as Delta requires; a borrowed session is restored afterwards."""
    before = spark.conf.get(_TIMESTAMPS, None)
    spark.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_TIMESTAMPS)
        else:
            spark.conf.set(_TIMESTAMPS, before)
