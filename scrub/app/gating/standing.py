# SPDX-License-Identifier: Apache-2.0
"""The standing of every defect, once all are counted: only then it is known what waivers cover."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scrub.app.gating.tally import Recognised, Tally
from scrub.model.gate import DefectGroup, GateRule, Standing, Waiver, is_within

DEFAULT_RULE = GateRule()


@dataclass(frozen=True, slots=True)
class Stand:
    """How defects of one group stand, and what speaks for or against them."""

    group: DefectGroup
    standing: Standing
    waiver: Waiver | None = None  # that waives them; or that has expired

    @property
    def is_accepted(self) -> bool:
        return self.standing in (Standing.KNOWN, Standing.WAIVED)


@dataclass(slots=True)
class Standings:
    """Waivers, baseline and rules applied to what was counted."""

    tally: Tally
    counts: "Counter[Stand]" = field(default_factory=Counter)
    covered: "Counter[Waiver]" = field(default_factory=Counter)  # how many each is about
    unaccepted: "dict[GateRule, Counter[Stand]]" = field(default_factory=dict)  # by their rule

    def __post_init__(self) -> None:
        self._count_covered()
        for (group, standing, waiver), number in self.tally.counts.items():
            self.counts[self.stand(Recognised(group, standing, waiver))] += number
        for stand, number in self.counts.items():
            if not stand.is_accepted:
                rule = self.rule_of(stand.group)
                self.unaccepted.setdefault(rule, Counter())[stand] += number

    def stand(self, found: Recognised) -> Stand:
        """A waiver in force comes first; one that has expired makes even a known defect new."""
        about = [*([found.waiver] if found.waiver else []), *self._of_group(found.group)]
        for waiver in about:
            if not self.is_expired(waiver) and not self.is_too_many(waiver):
                return Stand(found.group, Standing.WAIVED, waiver)
        for waiver in about:
            if self.is_expired(waiver):
                changed = found.standing is Standing.CHANGED
                return Stand(found.group, Standing.CHANGED if changed else Standing.NEW, waiver)
        return Stand(found.group, found.standing)

    def is_expired(self, waiver: Waiver) -> bool:
        return waiver.is_expired(self.tally.grounds.today)

    def is_too_many(self, waiver: Waiver) -> bool:
        """Whether it is about more defects than it was given for."""
        return waiver.at_most is not None and self.covered[waiver] > waiver.at_most

    def rule_of(self, group: DefectGroup) -> GateRule:
        """The first rule that describes a group."""
        rules = (rule for rule in self.tally.grounds.policy.rules if is_within(group, rule))
        return next(rules, DEFAULT_RULE)

    def _of_group(self, group: DefectGroup) -> Sequence[Waiver]:
        return [waiver for waiver in self.tally.grounds.waivers if waiver.covers(group)]

    def _count_covered(self) -> None:
        for (group, _, by_id), number in self.tally.counts.items():
            for waiver in self._about(group, by_id):
                self.covered[waiver] += number

    def _about(self, group: DefectGroup, by_id: Waiver | None) -> Iterator[Waiver]:
        if by_id is not None:
            yield by_id
            if not self.is_expired(by_id):
                return  # somebody answers for it already
        yield from self._of_group(group)
