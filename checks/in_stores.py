# SPDX-License-Identifier: Apache-2.0
"""The stage in which databases compare what they hold both sides of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from checks.findings import SlotFindings
from checks.slots import Relation, Slot
from checks.store_comparison import NAMED_MAX, key_columns, sources_of
from checks.unnamed import Unnamed
from checks.unread import Unread
from scrub.errors import StoreUnavailable
from scrub.model.request import Strategy
from scrub.stores.base import ComparingStore
from scrub.stores.row_entries import columns_believed


@dataclass(frozen=True, slots=True)
class Differing:
    """An index that differs: its entries to be named, and the keys of rows that prove nothing."""

    slot: Slot
    entries: pa.Table
    keys_rejected: pa.Table


@dataclass(slots=True)
class Compared:
    """Of some indexes: those with entries to be named, and those that differ in too many."""

    differing: list[Differing] = field(default_factory=list)
    too_many: list[Slot] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class InStores:
    """Compares, and notes what was counted; naming is the runner's."""

    stores: Mapping[int, ComparingStore]  # by slot
    relations: Sequence[Relation]
    found: Mapping[int, SlotFindings]
    unread: Unread
    unnamed: Unnamed
    settling: bool  # whether differences should be looked at a second time
    on_begin: Callable[[str], None]

    def compare(self, slots: Sequence[Slot]) -> Compared:
        """Indexes of one table, one after the other."""
        compared = Compared()
        for slot in slots:
            self.on_begin(f"{slot.label}: the database compares")
            try:
                entries = self._entries_to_name(slot)
                if entries is None:
                    compared.too_many.append(slot)
                elif entries.num_rows:
                    compared.differing.append(Differing(slot, entries, self._keys_rejected(slot)))
            except StoreUnavailable as error:
                self.unread.slots[slot.number] = str(error)
        return compared

    def _entries_to_name(self, slot: Slot) -> pa.Table | None:
        """None if there are more of them than the driver should hold."""
        store, found = self.stores[slot.number], self.found[slot.number]
        expected, actual = sources_of(slot, self.relations)
        compared = store.compare(expected, actual)
        found.rows, found.entries = compared.expected, compared.actual
        found.strategy = Strategy.MERGE.value
        if self.settling:
            found.notes.append("not settled: both sides are of one snapshot")
        self.unnamed.note_compared(slot.number, compared)
        if compared.differing > NAMED_MAX:
            return None
        if compared.agrees:
            return pa.table({})
        return store.entries_that_differ(expected, actual, compared)

    def _keys_rejected(self, slot: Slot) -> pa.Table:
        """The keys of rows with a value that its column cannot hold."""
        expected, _ = sources_of(slot, self.relations)
        columns = columns_believed(slot.table.table, slot.index)
        return self.stores[slot.number].keys_rejected(expected, columns)

    def entries_sharing_a_key(self, slot: Slot) -> pa.Table:
        """The entries of rows that another row shares an index key with."""
        expected, _ = sources_of(slot, self.relations)
        return self.stores[slot.number].entries_sharing(expected, key_columns(slot))
