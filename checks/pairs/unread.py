# SPDX-License-Identifier: Apache-2.0
"""Pairs that could not be read, and what follows from that for each index."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from checks.numbering import Relation, Slot
from checks.unread import Unread
from scrub.model.defect import DefectKind


@dataclass(slots=True)
class UnreadPairs(Unread):
    """The same for pairs, of which single ones can be unreadable; indexes are known by name."""

    rows: bool = False  # a pair of a row could not be read
    entries: Counter[str] = field(default_factory=Counter)  # pairs of indexes that could not
    doubtful: Counter[str] = field(default_factory=Counter)  # rows that prove nothing to an index

    def is_whole_for(self, slot: Slot, table: Relation, index: Relation) -> bool:
        return self.reason(slot, table, index) is None

    def doubted(self, slot: Slot) -> int:
        """Whatever entries such a row has, or lacks, is undecided."""
        return self.doubtful[slot.index.name]

    def undecidable(self, slot: Slot, table: Relation, index: Relation) -> frozenset[DefectKind]:
        """The kinds of difference that what was not read could explain.

        A duplicate entry is none of them: two pairs with one key are wrong whatever else there is.
        """
        kinds: set[DefectKind] = set()
        if self.rows or not self.is_whole(table):
            kinds.add(DefectKind.DANGLING)
        if self.entries[slot.index.name] or not self.is_whole(index):
            kinds.add(DefectKind.MISSING)
        return frozenset(kinds)

    def reason(self, slot: Slot, table: Relation, index: Relation) -> str | None:
        """Why the check of an index is incomplete, if it is."""
        name = slot.index.name
        reasons = self._of_relations({table.number: table, index.number: index})
        if self.rows:
            reasons.append("pairs of the table could not be read")
        if self.entries[name]:
            reasons.append(f"{self.entries[name]} of its pairs could not be read")
        if count := self.doubtful[name]:
            one = "1 row of the table is damaged, so its entries"
            several = f"{count} rows of the table are damaged, so their entries"
            reasons.append(
                f"{one if count == 1 else several} are undecided: "
                "--checks physical reports what is wrong"
            )
        if given_up := self.slots.get(slot.number):
            reasons.append(given_up)
        return " and ".join(reasons) or None

    def reason_of_physical(self, relations: Sequence[Relation]) -> str | None:
        """Why not every pair was judged; one that cannot be read was."""
        return " and ".join(self._of_relations(dict(enumerate(relations)))) or None

    def _of_relations(self, relations: dict[int, Relation]) -> list[str]:
        return [lost for _, of in sorted(relations.items()) for lost in self.of_relation(of)]
