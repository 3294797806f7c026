# SPDX-License-Identifier: Apache-2.0
"""Counts defects as they are found, so that a gate needs memory for what is known only."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from scrub.app.gating.grounds import Grounds
from scrub.model.defect import Defect, same_content
from scrub.model.gate import DefectGroup, KnownDefect, Standing, Waiver


@dataclass(frozen=True, slots=True)
class Sighting:
    """A defect as a gate recognises it."""

    id: str
    content: str
    group: DefectGroup


@dataclass(frozen=True, slots=True)
class Recognised:
    """What the baseline and the waivers of single defects say of a sighting."""

    group: DefectGroup
    standing: Standing  # new, changed or known
    waiver: Waiver | None = None  # by its id; in force, or else expired
    known: KnownDefect | None = None


@dataclass(slots=True)
class Tally:
    """Sightings by group and standing, and which of the known defects are among them."""

    grounds: Grounds
    counts: "Counter[tuple[DefectGroup, Standing, Waiver | None]]" = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)  # ids of the baseline that were seen
    vague: dict[Waiver, str] = field(default_factory=dict)  # what each waives without saying so
    passed_by: dict[Waiver, str] = field(default_factory=dict)  # other contents than each says
    _known: Mapping[str, Sequence[KnownDefect]] = field(init=False)
    _waivers: Mapping[str, Sequence[Waiver]] = field(init=False)

    def __post_init__(self) -> None:
        current = sorted(self.current(), key=lambda known: known.id)
        self._known = {id_: tuple(of) for id_, of in groupby(current, key=lambda known: known.id)}
        # Of several of one defect, the one that ends last.
        by_end = sorted(self.grounds.waivers, key=lambda waiver: waiver.until, reverse=True)
        of_ids: dict[str, list[Waiver]] = {}
        for waiver in by_end:
            if waiver.id is not None:
                of_ids.setdefault(waiver.id, []).append(waiver)
        self._waivers = of_ids

    def current(self) -> Iterator[KnownDefect]:
        """What the baseline knows of definitions that still hold."""
        baseline = self.grounds.baseline
        for known in baseline.known if baseline else ():
            if self.grounds.is_current(known):
                yield known

    def sighting(self, defect: Defect) -> Sighting:
        content = defect.content(self.grounds.salt, names_only=self.grounds.names_only)
        group = DefectGroup(defect.table, defect.index, defect.constraint, defect.kind)
        return Sighting(defect.id, content, group)

    def add(self, sighting: Sighting) -> Recognised:
        """Count it, and say what it is recognised as."""
        found = self.recognised(sighting)
        self.counts[found.group, found.standing, found.waiver] += 1
        if sighting.id in self._known:
            self.seen.add(sighting.id)
        for waiver in self._waivers.get(sighting.id, ()):
            if not waiver.is_of(sighting.content):
                self.passed_by[waiver] = sighting.content
            elif waiver.content is None and found.standing is Standing.NEW:
                self.vague[waiver] = sighting.content
        return found

    def recognised(self, sighting: Sighting) -> Recognised:
        """A waiver of one defect is of what was wrong then: it says nothing of a changed one.

        What was wrong then, the waiver itself may tell, or the baseline.
        """
        of_id = self._known.get(sighting.id, ())
        waivers = self._waivers.get(sighting.id, ())
        waiver = next((one for one in waivers if one.is_of(sighting.content)), None)
        for known in of_id:
            if same_content(sighting.content, known.content):
                return Recognised(sighting.group, Standing.KNOWN, waiver, known)
        if of_id:
            is_named = waiver is not None and waiver.content is not None
            named = waiver if is_named else None
            return Recognised(sighting.group, Standing.CHANGED, named, of_id[0])
        is_changed = bool(waivers) and waiver is None
        return Recognised(sighting.group, Standing.CHANGED if is_changed else Standing.NEW, waiver)
