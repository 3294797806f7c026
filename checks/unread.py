# SPDX-License-Identifier: Apache-2.0
"""What a run could not look at, and what follows from that for each index."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checks.numbering import Relation, Slot
from checks.parts import Part
from scrub.model.defect import DefectKind
from scrub.model.relation import RelationFacts

_NAMED_MAX = 3
PARTS_SET_ASIDE_MAX = 50  # Spark's own reader finds them one failed job at a time


@dataclass(slots=True)
class Unread:
    """Grows while a run goes on; a part or an index once set aside stays so."""

    parts: dict[int, tuple[Part, str]] = field(default_factory=dict)  # by the part's number
    relations: dict[int, str] = field(default_factory=dict)  # those that cannot be read at all
    slots: dict[int, str] = field(default_factory=dict)  # indexes that cannot be checked at all
    counted_elsewhere: frozenset[DefectKind] = frozenset()  # kinds that a join need not count

    def readable(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The parts that nothing speaks against."""
        return tuple(
            part
            for part in parts
            if part.number not in self.parts and part.relation.number not in self.relations
        )

    def set_aside(self, lost: tuple[Part, str] | None) -> bool:
        """Whether a part that was found unreadable is left out from now on."""
        if lost is None or len(self.parts) >= PARTS_SET_ASIDE_MAX:
            return False
        self.parts[lost[0].number] = lost
        return True

    def is_whole(self, relation: Relation) -> bool:
        """Whether every part of the relation was read."""
        if relation.number in self.relations:
            return False
        return all(part.relation.number != relation.number for part, _ in self.parts.values())

    def parts_of(self, *relations: Relation) -> list[Part]:
        """The parts of some relations that were not read."""
        numbers = {relation.number for relation in relations}
        return [part for part, _ in self.parts.values() if part.relation.number in numbers]

    def is_whole_for(self, slot: Slot, table: Relation, index: Relation) -> bool:  # noqa: ARG002
        """Whether everything that an index is judged by was read."""
        return self.is_whole(table) and self.is_whole(index)

    def doubted(self, slot: Slot) -> int:  # noqa: ARG002
        """Differences that are undecided before anything is named."""
        return 0

    def undecidable(self, slot: Slot, table: Relation, index: Relation) -> frozenset[DefectKind]:  # noqa: ARG002
        """The kinds of difference that what was not read could explain."""
        kinds: set[DefectKind] = set()
        if not self.is_whole(table):
            kinds |= {DefectKind.DANGLING, DefectKind.DUPLICATE_ENTRY}
        if not self.is_whole(index):
            kinds |= {DefectKind.MISSING, DefectKind.DUPLICATE_KEY}
        return frozenset(kinds)

    def reason(self, slot: Slot, table: Relation, index: Relation) -> str | None:
        """Why the check of an index is incomplete, if it is."""
        reasons = [reason] if (reason := self.slots.get(slot.number)) else []
        for relation in (table, index):
            reasons += self.of_relation(relation)
        return "; ".join(reasons) or None

    def of_relation(self, relation: Relation) -> list[str]:
        """What of a relation was not read, and why."""
        reasons = self._parts_of(relation)
        if relation.number in self.relations:
            why = self.relations[relation.number]
            reasons.insert(0, f"{relation.side.facts.relation} was not read: {why}")
        return reasons

    def _parts_of(self, relation: Relation) -> list[str]:
        lost = [
            f"{part.name}: {reason}"
            for part, reason in self.parts.values()
            if part.relation.number == relation.number
        ]
        return [parts_not_read(relation.side.facts, lost)] if lost else []


def parts_not_read(facts: RelationFacts, lost: Sequence[str]) -> str:
    """Some parts of a relation, the first of them by name and reason."""
    more = f" and {len(lost) - _NAMED_MAX} more" if len(lost) > _NAMED_MAX else ""
    return (
        f"{len(lost)} of {len(facts.splits) or 1} parts of {facts.relation} were not read: "
        + "; ".join(lost[:_NAMED_MAX])
        + more
    )
