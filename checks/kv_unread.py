# SPDX-License-Identifier: Apache-2.0
"""Pairs that could not be read, and what follows from that for each index."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checks.kv_plan import KvPlan
from checks.native_fingerprint import NumberedSplit
from checks.unread import parts_not_read
from scrub.model.defect import DefectKind


@dataclass(slots=True)
class UnreadPairs:
    """Grows while a run goes on."""

    plan: KvPlan
    rows: bool = False  # a pair of a row could not be read
    entries: Counter[str] = field(default_factory=Counter)  # pairs of indexes that could not
    doubtful: Counter[str] = field(default_factory=Counter)  # rows that prove nothing to an index
    splits: dict[int, tuple[NumberedSplit, str]] = field(default_factory=dict)  # by number

    def readable(self) -> Sequence[NumberedSplit]:
        """The splits that nothing speaks against."""
        return [of for of in self.plan.splits if of.number not in self.splits]

    def undecidable(self, index: str) -> frozenset[DefectKind]:
        """The kinds of difference that what was not read could explain."""
        kinds: set[DefectKind] = set()
        if self.rows or self._is_cut(0):
            kinds.add(DefectKind.DANGLING)
        if self.entries[index] or self._is_cut(self.plan.relation_of(index)):
            kinds.add(DefectKind.MISSING)
        return frozenset(kinds)

    def reason(self, index: str) -> str | None:
        """Why the check of an index is incomplete, if it is."""
        reasons = list(self._splits_of(sorted({0, self.plan.relation_of(index)})))
        if self.rows:
            reasons.append("pairs of the table could not be read")
        if self.entries[index]:
            reasons.append(f"{self.entries[index]} of its pairs could not be read")
        if count := self.doubtful[index]:
            rows = "1 row" if count == 1 else f"{count} rows"
            reasons.append(
                f"{rows} of the table cannot be relied on, and the entries of such a row are "
                "undecided: --checks physical tells what is wrong"
            )
        return " and ".join(reasons) or None

    def reason_of_physical(self) -> str | None:
        """Why not every pair was judged; one that cannot be read was."""
        return " and ".join(self._splits_of(range(len(self.plan.relations)))) or None

    def _is_cut(self, relation: int) -> bool:
        return any(split.relation == relation for split, _ in self.splits.values())

    def _splits_of(self, relations: Sequence[int]) -> Iterator[str]:
        for relation in relations:
            facts = self.plan.relations[relation].facts
            lost = [
                f"{numbered.split.name}: {reason}"
                for numbered, reason in self.splits.values()
                if numbered.relation == relation
            ]
            if lost:
                yield parts_not_read(facts, lost)
