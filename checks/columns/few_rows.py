# SPDX-License-Identifier: Apache-2.0
"""Defects that few rows show: those of differing buckets, gathered by tasks and compared here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checks.choose import Chosen, ChosenBuckets, every_bucket, union_of
from checks.columns.held_naming import defects_among_rows, depends_on_others
from checks.columns.sifting import ROWS_MAX, Rows, sifting
from checks.jobs import HELD_MAX, Jobs
from checks.named_defects import NamedDefects
from checks.numbering import Relation, Slot
from checks.parts import Part
from checks.scan_spec import KeySet
from checks.scan_state import ScanState
from scrub.codec.functions.doubt import InDoubt


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRows:
    """Where rows come from, and how those that agree are left out."""

    jobs: Jobs
    relations: Sequence[Relation]
    parts: Sequence[Part]  # that can be read
    left_out: Sequence[Part]  # by the scan: they hold no row that `--where` chooses
    state: ScanState
    among: Mapping[int, KeySet]  # by slot, the primary keys that choose its entries

    def defects(self, slots: Sequence[Slot], chosen: Chosen) -> NamedDefects | None:
        """What is wrong; None if too many rows would have to be held to say so, or Spark has to."""
        try:
            return self._defects(slots, chosen)
        except InDoubt:
            return None  # over a row that the scan passed over: none that `--where` chooses

    def _defects(self, slots: Sequence[Slot], chosen: Chosen) -> NamedDefects | None:
        few = self._rows(slots, chosen, ())
        if few is None:
            return None
        found = NamedDefects.holding(defects_among_rows(slots, self.relations, few))
        doubtful = [slot for slot in slots if depends_on_others(slot, found)]
        also = [
            part
            for number in dict.fromkeys(slot.of_table for slot in doubtful)
            for part in self.of_others(self.relations[number], doubtful)
        ]
        if not also:
            return found
        every = self._rows(slots, chosen, also)
        if every is None:
            return None
        return NamedDefects.holding(defects_among_rows(slots, self.relations, every))

    def of_others(self, relation: Relation, slots: Sequence[Slot]) -> list[Part]:
        """Where rows with the same primary key as a chosen one may be, though none is chosen."""
        if not any(slot.plan.by_rows and slot in relation.slots for slot in slots):
            return []
        return [part for part in self.left_out if part.relation.number == relation.number]

    def _rows(self, slots: Sequence[Slot], chosen: Chosen, also: Sequence[Part]) -> Rows | None:
        """The rows that disagree, if tasks can open all relations and few rows are to be read."""
        relations: dict[int, ChosenBuckets] = {}
        rows = 0
        for table in {id(slot.table): slot.table for slot in slots}.values():
            of_table = [slot for slot in slots if slot.table is table]
            needed = [r for r in self.relations if any(slot in r.slots for slot in of_table)]
            buckets = union_of(table, slots, chosen)
            if buckets is None and self.jobs.in_process is not None:
                buckets = every_bucket(table.bucket_bits)
            if buckets is None or not all(relation.is_native for relation in needed):
                return None
            sums = [self.state.sums.slots[slot.number].buckets for slot in of_table]
            rows += sum(int(of_slot[buckets.flags, :2].sum()) for of_slot in sums)
            relations |= {relation.number: buckets for relation in needed}
        if rows > ROWS_MAX:
            return None
        parts = [p for p in self.parts if p.relation.number in relations]
        parts += also
        needed = [relation for relation in self.relations if relation.number in relations]
        numbers = frozenset(slot.number for slot in slots)
        job = sifting(
            self.jobs.cores, needed, parts, relations, numbers, self.state.salt, self.among
        )
        found = job.sift(self.jobs.arrow(job.gathering))
        if found is None or sum(batch.num_rows for batch in found.values()) > HELD_MAX:
            return None
        return found
