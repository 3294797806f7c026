# SPDX-License-Identifier: Apache-2.0
"""The defects that a run hands over: so many to be shown, and all of them to who asks for them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from checks.jobs import Jobs
from checks.named_defects import HeldDefect, NamedDefects
from scrub.model.defect import Defect

ToDefect = Callable[[HeldDefect], Defect]


@dataclass(slots=True, kw_only=True)
class ShownDefects:
    """Grows while a run goes on."""

    limit: int
    on_defect: Callable[[Defect], None] | None  # gets every one, whatever the limit
    jobs: Jobs
    defects: list[Defect] = field(default_factory=list)

    @property
    def room(self) -> int:
        """How many more are to be shown."""
        return max(self.limit - len(self.defects), 0)

    @property
    def wanted(self) -> int | None:
        """How many are worth naming; None: all of them."""
        return None if self.on_defect is not None else self.room

    def add_named(self, named: NamedDefects, to_defect: ToDefect) -> None:
        """Defects that a join has named."""
        if self.on_defect is not None:
            for row in self._in_order(named, None):
                self.on_defect(to_defect(row))
        if room := self.room:
            self.defects += [to_defect(row) for row in self._in_order(named, room)]

    def add(self, defects: Iterable[Defect]) -> None:
        """Other defects, of which there are no more than `wanted`."""
        for defect in defects:
            if self.on_defect is not None:
                self.on_defect(defect)
            if self.room:
                self.defects.append(defect)

    def _in_order(self, named: NamedDefects, limit: int | None) -> Iterator[HeldDefect]:
        """The first defects, or all of them, which may be more than the driver can hold."""
        if named.held is not None:
            yield from named.held_in_order(limit)
        elif limit is None:
            yield from (row.asDict() for row in self.jobs.each(named.in_order(None)))
        else:
            yield from (row.asDict() for row in self.jobs.rows(named.in_order(limit)))
