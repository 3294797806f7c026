# SPDX-License-Identifier: Apache-2.0
"""Table and indexes at one moment: an epoch that ends exactly at a snapshot of the table.

The snapshots are exported, so that a check reads at them while the stream goes on.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from repair.streaming.arriving import Arriving
from repair.streaming.exactly import may_end_at
from repair.streaming.running import StreamRun
from scrub.app.checking.tables import CatalogPlacing
from scrub.catalog import Catalog
from scrub.model.table import Table
from scrub.stores.postgres.shared_snapshot import SharedSnapshot
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.streaming import NotShown


@dataclass(frozen=True, slots=True)
class SnapshotPair:
    """Exported snapshots, of the table's database and of the indexes'."""

    table: str
    indexes: str

    def placing(self, table: str) -> CatalogPlacing:
        """Has the table read at the one, and its indexes at the other."""
        return lambda catalog: _placed(catalog, table, self)


@contextmanager
def exact_snapshots(
    stream: PostgresStream, run: StreamRun, arriving: Arriving, wait_limit: float
) -> Iterator[SnapshotPair]:
    """Catch up, end an epoch at a snapshot, and keep that of the table and that of the indexes."""
    deadline = time.monotonic() + wait_limit
    with closing(stream.open_history()) as history:
        while True:
            _catch_up(run)
            with history.snapshot() as held:
                is_new_enough = may_end_at(run.state, held.snapshot, arriving.coverage)
                changes = arriving.up_to(held) if is_new_enough else None
                if changes is not None:
                    run.exact_epoch(held, changes)
                    with closing(SharedSnapshot(stream.sink_conninfo)) as of_indexes:
                        yield SnapshotPair(held.export(), of_indexes.identifier)
                    return
            if time.monotonic() > deadline:
                raise NotShown(
                    f"for {wait_limit:g} seconds, a commit was in the log that no snapshot shows, "
                    "so there was no moment at which table and indexes can be compared",
                    hint="a synchronous standby may not answer; look at pg_stat_replication",
                )


def _catch_up(run: StreamRun) -> None:
    """Until less comes than fits into an epoch, so that little is left before a snapshot."""
    while sum(run.epoch().counts.values()) >= run.pace.changes_max:
        pass


def _placed(catalog: Catalog, name: str, pair: SnapshotPair) -> Catalog:
    table = catalog.tables[name]
    of_table, of_indexes = f"{table.store} (table)", "{} (indexes)"
    stores = dict(catalog.stores)
    stores[of_table] = replace(stores[table.store], name=of_table, snapshot=pair.table)
    for index in table.indexes:
        beside = of_indexes.format(index.store)
        stores[beside] = replace(stores[index.store], name=beside, snapshot=pair.indexes)
    moved = _moved(table, of_table, of_indexes)
    return replace(catalog, stores=stores, tables={**catalog.tables, name: moved})


def _moved(table: Table, of_table: str, of_indexes: str) -> Table:
    indexes = (replace(i, store=of_indexes.format(i.store)) for i in table.indexes if not i.is_own)
    return replace(table, store=of_table, indexes=tuple(indexes))
