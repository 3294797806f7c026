# SPDX-License-Identifier: Apache-2.0
"""The stage in which databases compare what they hold both sides of, so that no row is moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from checks.choose import Chosen
from checks.columns.damaged_rows import damaged_keys
from checks.columns.held_naming import defects_among_entries
from checks.columns.store_comparison import NAMED_MAX, names_in_store, sides_of
from checks.name import leave_undecided, without_unsought
from checks.named_defects import HeldDefect, NamedDefects, count
from checks.numbering import Slot
from checks.run_state import Run
from checks.source import Named
from scrub.errors import StoreUnavailable
from scrub.model.request import Strategy
from scrub.stores.row_entries import columns_believed


@dataclass(frozen=True, slots=True)
class Differing:
    """An index that differs: its entries to be named, and the keys of rows that prove nothing."""

    slot: Slot
    entries: pa.Table
    keys_rejected: pa.Table


def compare_in_stores(run: Run) -> Chosen:
    """Let databases compare; returns the indexes that tasks have to join as a whole.

    Those are the indexes that differ in more entries than the driver should hold.
    """
    too_many: dict[int, None] = {}
    for table in run.plan.tables:
        of_table = [slot for slot in run.source.slots if slot.table is table]
        differing: list[Differing] = []
        for slot in of_table:
            if slot.number not in run.comparing:
                continue
            run.report(f"{slot.label}: the database compares")
            try:
                entries = _entries_to_name(run, slot)
                if entries is None:
                    too_many[slot.number] = None
                elif entries.num_rows:
                    differing.append(Differing(slot, entries, _keys_rejected(run, slot)))
            except StoreUnavailable as error:
                run.source.unread.slots[slot.number] = str(error)
        if differing:
            _name(run, differing)
    return too_many


def _entries_to_name(run: Run, slot: Slot) -> pa.Table | None:
    """None if there are more of them than the driver should hold."""
    store, found = run.comparing[slot.number], run.found[slot.number]
    expected, actual = sides_of(slot, run.source.relations)
    compared = store.compare(expected, actual)
    found.rows, found.entries = compared.expected, compared.actual
    found.strategy = Strategy.MERGE.value
    if run.settings.settle_seconds is not None:
        found.notes.append("not settled: both sides are of one snapshot")
    if not slot.plan.by_rows:  # an entry of no row may explain what differs
        run.unnamed.note_compared(slot.number, compared)
    if compared.differing > NAMED_MAX:
        return None
    if compared.agrees:
        return pa.table({})
    return store.entries_that_differ(expected, actual, compared)


def _keys_rejected(run: Run, slot: Slot) -> pa.Table:
    """The keys of rows with a value that its column cannot hold."""
    expected, _ = sides_of(slot, run.source.relations)
    columns = columns_believed(slot.table.table, slot.index)
    return run.comparing[slot.number].keys_rejected(expected, columns)


def _name(run: Run, differing: Sequence[Differing]) -> None:
    run.report("naming defects")
    slots = [one.slot for one in differing]
    named = Named(NamedDefects.holding(_defects(differing)))
    defects, counts = leave_undecided(run, named, slots)
    if once := run.source.once_per_row(defects, counts):
        defects, counts = once, count(once, run.jobs)
    for slot in slots:
        found = run.found[slot.number]
        found.counts = without_unsought(slot, found, counts.get(slot.number, {}))
        run.unnamed.forget(slot.number)
    unsought = {slot.number: frozenset(slot.plan.not_looked_for) for slot in slots}
    run.shown.add_named(defects.decided(unsought), run.as_defect)


def _defects(differing: Sequence[Differing]) -> Iterator[HeldDefect]:
    for one in differing:
        yield from defects_among_entries(one.slot, one.entries, names_in_store(one.slot))
        yield from damaged_keys(one.slot, one.entries, one.keys_rejected)
