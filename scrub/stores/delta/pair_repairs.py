# SPDX-License-Identifier: Apache-2.0
"""Repairing pairs of bytes in Delta: the repairs of a lake, where rows are pairs too.

Where table and index share a relation, rows are read in the very version that is changed, so that
nothing can come in between. Apart from that, all is as for other indexes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.repairs import DeltaRepairs
from scrub.stores.delta.row_demands import Demanded
from scrub.stores.delta.rows import require_columns
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.pair_demands import demanded_now, pair_keys, pair_shape, refuse_versions
from scrub.stores.pair_rows import Pair, PairRows


@dataclass(frozen=True, slots=True)
class PairDemands:
    """What the pairs of rows demand of the pairs of an index."""

    lake: Lake

    def shape(self, table: Table, index: Index) -> EntryShape:
        return shape_of(table, index)

    def demanded(
        self, snapshot: DeltaSnapshot, table: Table, index: Index, actions: Sequence[Action]
    ) -> Demanded:
        assert table.kv is not None, "only tables in key-value layout come here"
        rows = PairRows(table.kv)
        refuse_versions(snapshot.relation, snapshot.schema.names)
        with self.lake.latest(table) as latest:
            is_shared = latest.uri == snapshot.uri
            of_table = snapshot if is_shared else latest
            entries = demanded_now(rows, index.name, actions, lambda keys: _find(of_table, keys))
            return Demanded(entries, of_table.version, is_latest=not is_shared)


class DeltaPairRepairs(DeltaRepairs):
    """Repairs of tables in key-value layout; tables are given as `pair_table` makes them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, demands=PairDemands)

    def pairs_at(self, table: Table, index: str, keys: Sequence[bytes]) -> list[Pair]:
        with self._lake.latest(table.index(index)) as snapshot:
            return _find(snapshot, keys)


def _find(snapshot: DeltaSnapshot, keys: Sequence[bytes]) -> list[Pair]:
    shape = pair_shape(snapshot.relation)
    refuse_versions(snapshot.relation, snapshot.schema.names)
    require_columns(snapshot, shape.columns)
    found = find_entries(snapshot, shape, pair_keys(keys)).entries
    return list(zip(*(found.column(name).to_pylist() for name in shape.names), strict=True))
