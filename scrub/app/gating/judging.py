# SPDX-License-Identifier: Apache-2.0
"""The decision of a gate. Pure: what was found and the grounds go in, the verdict comes out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrub.app.gating.coverage import looked_for, missing_coverage
from scrub.app.gating.grounds import Grounds
from scrub.app.gating.standing import Stand, Standings
from scrub.app.gating.tally import Tally
from scrub.app.gating.waiver_notes import waiver_notes
from scrub.model.defect import Defect
from scrub.model.gate import (
    GateRule,
    JudgedDefect,
    KnownDefect,
    Severity,
    Standing,
    Verdict,
)
from scrub.model.result import RunResult

PASSED, DEFECTIVE, NOT_COVERED = 0, 1, 3


def judge(result: RunResult, grounds: Grounds | None = None, tally: Tally | None = None) -> Verdict:
    """What a gate decides about a result.

    The tally is of all defects. Without it, those in the result are counted, and what the result
    counts beyond them is new: a defect that nobody can recognise is no known one.
    """
    grounds = grounds or Grounds()
    if tally is None:
        tally = Tally(grounds)
        for defect in result.defects:
            tally.add(tally.sighting(defect))
    return _Judging(result, grounds, tally, Standings(tally)).verdict()


def failing_rules(result: RunResult, grounds: Grounds, tally: Tally) -> frozenset[GateRule]:
    """The rules by which a gate fails."""
    judging = _Judging(result, grounds, tally, Standings(tally))
    counted = judging.standings.unaccepted.items()
    return frozenset(rule for rule, stands in counted if judging.fails(rule, stands))


@dataclass(frozen=True, slots=True)
class _Judging:
    result: RunResult
    grounds: Grounds
    tally: Tally
    standings: Standings

    def verdict(self) -> Verdict:
        failures = list(self._failures())
        missing = missing_coverage(self.result, self.grounds.required, self.grounds.of_pairs)
        gone = tuple(self._gone())
        code = DEFECTIVE if failures else NOT_COVERED if missing else PASSED
        told = [*failures, *(f"not covered: {line}" for line in missing)]
        return Verdict(
            exit_code=code,
            reasons=tuple(told) or (self._why_passed(),),
            warnings=tuple(self._warnings(gone)),
            defects=tuple(map(self._judged, self.result.defects)),
            gone=gone,
            missing=missing,
            counts=self._counts(gone),
        )

    # What fails

    def _failures(self) -> Iterator[str]:
        for rule, stands in self.standings.unaccepted.items():
            if self.fails(rule, stands):
                yield from self._told(rule, stands)
        if unrecognised := self._unrecognised():
            yield f"{_counted(unrecognised)} without a name count as new"
        for table in self.result.tables:
            for outcome in table.checks:
                if outcome.unnamed:
                    name = (
                        table.table if outcome.index is None else f"{table.table}.{outcome.index}"
                    )
                    number = f"at least {outcome.unnamed:,} difference"
                    number += "" if outcome.unnamed == 1 else "s"
                    yield f"{name}: {number} could not be named, which counts as new"

    def fails(self, rule: GateRule, stands: "Counter[Stand]") -> bool:
        threshold = rule.fails_above
        if threshold is None:
            return False
        return threshold.is_exceeded(stands.total(), self._rows(stands))

    def _told(self, rule: GateRule, stands: "Counter[Stand]") -> Iterator[str]:
        why = ""
        if rule.fail_above is not None:
            why = f"; together {stands.total():,}, above fail_above: {rule.fail_above}"
            why += f" ({self.grounds.catalog_file}:{rule.line})"
            if rule.fail_above.per_million and self._rows(stands) is None:
                why += ", because the number of rows is not known"
        for stand, number in _in_order(stands):
            yield f"{self._described(stand, number)}{why}"

    def _described(self, stand: Stand, number: int) -> str:
        text = f"{stand.group.place}: {number:,} {stand.standing} {stand.group.kind}"
        waiver = stand.waiver
        if waiver is not None:
            place = f"{self.grounds.waivers_file}:{waiver.line}"
            text += f", whose waiver expired on {waiver.until} ({place}, by {waiver.by})"
        return text

    def _unrecognised(self) -> int:
        """Defects that were counted and never seen one by one."""
        return max(self.result.defects_total - self.tally.counts.total(), 0)

    def _rows(self, stands: Iterable[Stand]) -> int | None:
        """The rows of the tables concerned; None if not all of them are known."""
        tables = {stand.group.table for stand in stands}
        rows = [
            max((of.rows for of in table.checks if of.rows is not None), default=None)
            for table in self.result.tables
            if table.table in tables
        ]
        known = [number for number in rows if number is not None]
        return sum(known) if rows and len(known) == len(rows) else None

    # What does not

    def _why_passed(self) -> str:
        counts = self._counts(())
        found = [f"{number:,} {standing}" for standing, number in counts.items() if number]
        return f"nothing fails the gate: {', '.join(found) or 'no defects'}"

    def _warnings(self, gone: tuple[KnownDefect, ...]) -> Iterator[str]:
        for rule, stands in self.standings.unaccepted.items():
            if not self.fails(rule, stands):
                yield from self._tolerated(rule, stands)
        yield from waiver_notes(self.standings, {table.table for table in self.result.tables})
        yield from self._outdated()
        if gone:
            what = "is gone; --prune drops it" if len(gone) == 1 else "are gone; --prune drops them"
            yield f"{_counted(len(gone))} of the baseline {what}"

    def _outdated(self) -> Iterator[str]:
        """What the baseline knows of definitions that the catalog does not have any more."""
        known = self.grounds.baseline.known if self.grounds.baseline else ()
        outdated = Counter(one.group for one in known if not self.grounds.is_current(one))
        by_place: Counter[tuple[str, bool]] = Counter()
        for group, number in outdated.items():
            now = self.grounds.definitions.get(group.table)
            is_there = now is not None and now.of(group.index, group.constraint) is not None
            by_place[group.place, is_there] += number
        for (place, is_there), number in sorted(by_place.items()):
            verb = "is" if number == 1 else "are"
            if is_there:
                why = "is defined differently since the baseline was written"
                yield f"{place} {why}, so {_counted(number)} of it {verb} not known any more"
            else:
                yield (
                    f"the catalog does not have {place} any more, of which {_counted(number)} "
                    f"{verb} known; nobody looks at it"
                )

    def _tolerated(self, rule: GateRule, stands: "Counter[Stand]") -> Iterator[str]:
        is_above = rule.warn_above is None or rule.warn_above.is_exceeded(
            stands.total(), self._rows(stands)
        )
        if rule.severity is Severity.NOTE or not is_above:
            return
        above = "" if rule.warn_above is None else f", above warn_above: {rule.warn_above}"
        allowed = "" if rule.fail_above is None else f", not above fail_above: {rule.fail_above}"
        place = f" ({self.grounds.catalog_file}:{rule.line})"
        for stand, number in _in_order(stands):
            yield f"{self._described(stand, number)}{above}{allowed}{place}"

    # What becomes of single defects

    def _judged(self, defect: Defect) -> JudgedDefect:
        sighting = self.tally.sighting(defect)
        found = self.tally.recognised(sighting)
        stand = self.standings.stand(found)
        rule = self.standings.rule_of(stand.group)
        fails = not stand.is_accepted and self.fails(rule, self.standings.unaccepted[rule])
        return JudgedDefect(
            defect=defect,
            standing=stand.standing,
            severity=rule.severity,
            waiver=stand.waiver,
            since=found.known.since if found.known else None,
            content=sighting.content,
            fails=fails,
        )

    def _gone(self) -> Iterator[KnownDefect]:
        for known in self.tally.current():
            of_pairs = known.table in self.grounds.of_pairs
            if known.id not in self.tally.seen and looked_for(known, self.result, of_pairs):
                yield known

    def _counts(self, gone: tuple[KnownDefect, ...]) -> dict[Standing, int]:
        counts = dict.fromkeys(Standing, 0)
        for stand, number in self.standings.counts.items():
            counts[stand.standing] += number
        counts[Standing.NEW] += self._unrecognised()
        counts[Standing.GONE] = len(gone)
        return counts


def _in_order(stands: "Counter[Stand]") -> list[tuple[Stand, int]]:
    def key(item: tuple[Stand, int]) -> tuple[str, ...]:
        group = item[0].group
        line = f"{item[0].waiver.line:09}" if item[0].waiver else ""
        return (group.place, group.kind, item[0].standing, line)

    return sorted(stands.items(), key=key)


def _counted(number: int) -> str:
    return f"{number:,} {'defect' if number == 1 else 'defects'}"
