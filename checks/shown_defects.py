# SPDX-License-Identifier: Apache-2.0
"""The defects that a run hands over: at most so many to be shown, and all to who asked for them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Row

from checks.findings import to_defect
from checks.named_defects import NamedDefects
from checks.part_faults import PartFaults
from checks.physical import Jobs, Physical
from checks.slots import Slot
from scrub.model.defect import Defect


@dataclass(slots=True, kw_only=True)
class ShownDefects:
    """Grows while indexes are named; jobs are run by the functions handed in."""

    slots: Sequence[Slot]
    limit: int
    on_defect: Callable[[Defect], None] | None  # gets every one, whatever the limit
    jobs: Jobs
    defects: list[Defect] = field(default_factory=list)

    @property
    def _room(self) -> int:
        return max(self.limit - len(self.defects), 0)

    def take(self, named: NamedDefects) -> None:
        """Defects that a join has named."""
        if self.on_defect is not None:
            for row in self._in_order(named, None):
                self.on_defect(to_defect(row, self.slots[row["slot"]]))
        if room := self._room:
            shown = self._in_order(named, room)
            self.defects += [to_defect(row, self.slots[row["slot"]]) for row in shown]

    def take_faults(self, physical: Physical, looked_at: Mapping[int, PartFaults]) -> None:
        """Values that cannot be."""
        room = self._room
        if self.on_defect is None:
            self.defects += physical.defects(looked_at, room)
            return
        for number, defect in enumerate(physical.defects(looked_at, None)):
            self.on_defect(defect)
            if number < room:
                self.defects.append(defect)

    def _in_order(self, named: NamedDefects, limit: int | None) -> Iterator[Row]:
        """The first defects, or all of them, which may be more than the driver can hold."""
        if named.held is not None:
            yield from named.held_in_order(limit)
        elif limit is None:
            yield from self.jobs.many(named.in_order(None))
        else:
            yield from self.jobs.few(named.in_order(limit))
