# SPDX-License-Identifier: Apache-2.0
"""How defects become known: what a baseline keeps of them, and when it is written."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scrub.app.gating.baseline import KNOWN_MAX, merged, write_baseline
from scrub.app.gating.grounds import Grounds
from scrub.app.gating.judging import judge
from scrub.app.gating.standing import Standings
from scrub.app.gating.tally import Recognised, Sighting, Tally
from scrub.errors import UsageError
from scrub.model.defect import Defect
from scrub.model.gate import GateRequest, GateRule, Judged, KnownDefect, Standing, Verdict
from scrub.model.result import RunResult


@dataclass(slots=True)
class Listener:
    """Counts every defect, and keeps what a baseline needs of it, up to what one can hold.

    It also keeps some of each sort, so that a report shows what fails the gate, however many
    known defects come before it.
    """

    tally: Tally
    keeps: bool
    limit: int = 0  # how many a report shows
    sightings: dict[Sighting, int] = field(default_factory=dict)
    is_full: bool = False
    _samples: dict[Recognised, list[Defect]] = field(default_factory=dict)

    def shown(
        self, defects: Sequence[Defect], failing: Collection[GateRule] = ()
    ) -> tuple[Defect, ...]:
        """What a report shows of these: what fails the gate, then what else nobody accepts."""
        standings = Standings(self.tally)
        unaccepted = [
            (standings.rule_of(found.group) not in failing, some)
            for found, some in self._samples.items()
            if not standings.stand(found).is_accepted
        ]
        in_order = sorted(unaccepted, key=lambda one: one[0])
        open_ = [defect for _, some in in_order for defect in some]
        # Rows that share a primary key may have equal defects; each of them counts.
        shown = Counter(map(_place_and_fault, open_))
        others = []
        for defect in defects:
            key = _place_and_fault(defect)
            if shown[key]:
                shown[key] -= 1
            else:
                others.append(defect)
        return (*open_, *others)[: self.limit]

    def __call__(self, defect: Defect) -> None:
        sighting = self.tally.sighting(defect)
        found = self.tally.add(sighting)
        some = self._samples.setdefault(replace(found, known=None), [])
        if len(some) < self.limit:
            some.append(defect)
        if not self.keeps:
            return
        if sighting not in self.sightings and len(self.sightings) >= KNOWN_MAX:
            self.is_full = True
            return
        self.sightings[sighting] = self.sightings.get(sighting, 0) + 1


def remember(
    request: GateRequest, path: Path, grounds: Grounds, listener: Listener, judged: Judged
) -> Judged:
    """Write the baseline if the look was whole, and judge by it."""
    assert grounds.baseline is not None
    verdict = judged.verdict
    hindrance = _hindrance(judged.result, verdict)
    if hindrance is not None:
        told = f"the baseline was not written: {hindrance}"
        return replace(judged, verdict=replace(verdict, warnings=(told, *verdict.warnings)))
    if listener.is_full:
        raise UsageError(
            f"there are more than {KNOWN_MAX:,} defects, and a baseline holds at most so many",
            hint="build the index again (docs/backfill.md), or repair it, instead of remembering "
            "all of them",
        )
    seen = list(_known_now(listener, grounds)) if request.write_baseline else []
    gone = set(verdict.gone) if request.prune else set()
    kept = [known for known in _still_known(grounds, request) if known not in gone]
    before = replace(grounds.baseline, known=tuple(kept))
    baseline = merged(before, seen, {**before.definitions, **grounds.definitions})
    is_new = write_baseline(path, baseline)
    tally = Tally(replace(grounds, baseline=baseline))
    for sighting, number in listener.sightings.items():
        for _ in range(number):
            tally.add(sighting)
    now = judge(judged.result, tally.grounds, tally)
    if gone:
        counts = {**now.counts, Standing.GONE: len(verdict.gone)}
        now = replace(now, gone=verdict.gone, counts=counts)
    count = f"{len(baseline.known):,} {'defect' if len(baseline.known) == 1 else 'defects'}"
    what = f"the baseline {path} {'now holds' if is_new else 'still holds'} {count}"
    if any(number > 1 for number in listener.sightings.values()):
        what += "; equal defects of rows with one primary key count once there"
    return replace(judged, verdict=now, told=(what,))


def _place_and_fault(defect: Defect) -> tuple[str, str]:
    return defect.id, defect.content()


def _still_known(grounds: Grounds, request: GateRequest) -> list[KnownDefect]:
    """Lines of tables that the catalog does not have stay until somebody prunes."""
    assert grounds.baseline is not None
    return [
        known
        for known in grounds.baseline.known
        if grounds.is_current(known)
        or (known.table not in grounds.definitions and not request.prune)
    ]


def _known_now(listener: Listener, grounds: Grounds) -> Iterable[KnownDefect]:
    for sighting in listener.sightings:
        found, group = listener.tally.recognised(sighting), sighting.group
        is_known = found.known is not None and found.standing is Standing.KNOWN
        yield KnownDefect(
            id=sighting.id,
            content=sighting.content,
            kind=group.kind,
            table=group.table,
            index=group.index,
            constraint=group.constraint,
            since=found.known.since if found.known and is_known else grounds.today,
        )


def _hindrance(result: RunResult, verdict: Verdict) -> str | None:
    if verdict.missing:
        return f"not everything was looked at: {verdict.missing[0]}"
    if result.unnamed_total:
        return "some differences could not be named"
    return None


def demand_writable(path: Path) -> None:
    """Before an hour's work has nowhere to go."""
    hindrance = _why_not_writable(path)
    if hindrance is not None:
        raise UsageError(
            f"the baseline {path} cannot be written: {hindrance}",
            hint="allow writing there, or name another file with --baseline FILE",
        )


def _why_not_writable(path: Path) -> str | None:
    if path.is_symlink() and not path.exists():
        # Whoever can add a file to a repository could choose what the one who runs this creates.
        return f"it is a link to {path.readlink()}, which does not exist"
    if path.exists() and not path.is_file():
        return "it is not a file"
    target = path.resolve()  # the new file is made beside the one that it replaces
    if not target.parent.is_dir():
        return "there is no such folder"
    places = [target.parent, target] if target.exists() else [target.parent]
    if not all(os.access(place, os.W_OK) for place in places):
        return "no permission"
    return None
