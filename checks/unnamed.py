# SPDX-License-Identifier: Apache-2.0
"""Differences that are known before they are named, and stay findings when naming fails.

Sums that differ, or a database that counts differences, tell that table and index disagree, if both
sides were read in full at a snapshot of each. Naming is a second look, which can fail for reasons
of its own: the session died, Spark has no connector, an expression raises. Then the differences are
reported without their names: "0 defects" would be false.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from checks.bucket_sums import SlotSums
from checks.findings import SlotFindings
from checks.parts import Part
from scrub.model.relation import RelationFacts
from scrub.stores.base import ComparedEntries


@dataclass(frozen=True, slots=True)
class Difference:
    """At least how much of an index differs."""

    number: int
    what: tuple[str, str]  # in the words for one, and for several

    def __str__(self) -> str:
        return f"at least {self.number:,} {self.what[self.number != 1]}"


@dataclass(slots=True)
class Unnamed:
    """By slot, what differs; once it is named, it is taken out."""

    _known: dict[int, Difference] = field(default_factory=dict)

    def note_sums(self, slot: int, sums: SlotSums, sides: Iterable[RelationFacts]) -> None:
        """Sums of sides that were read in full; without a snapshot, the data may have changed."""
        number = int(sums.differing().sum())
        if number and all(facts.snapshot.pinned for facts in sides):
            self._known[slot] = Difference(number, ("bucket differs", "buckets differ"))

    def note_compared(self, slot: int, compared: ComparedEntries) -> None:
        """What a database has counted; copies count several times in a join."""
        if not compared.agrees:
            number = 1 if compared.copies else compared.differing
            self._known[slot] = Difference(number, ("entry differs", "entries differ"))

    def forget(self, slot: int) -> None:
        """It was named, or everything was looked at again and nothing differs."""
        self._known.pop(slot, None)

    def conclude(self, slot: int, found: SlotFindings, lost: Iterable[Part]) -> None:
        """Say of an index what is left without a name; `lost` was not read the second time.

        A file that has no version may have been replaced since it was listed: then what differs may
        be the data of two moments.
        """
        known = self._known.get(slot)
        if known is None or any(found.counts.values()) or any(map(_may_be_another, lost)):
            return
        found.unnamed = known.number
        found.incomplete = f"{known}, not named because {found.incomplete or 'naming failed'}"


def _may_be_another(part: Part) -> bool:
    return part.relation.side.facts.snapshot.version is None
