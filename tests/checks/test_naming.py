# SPDX-License-Identifier: Apache-2.0
"""What a run makes of defects that were named, or settled, or not; no Spark is needed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pytest
from pyspark.sql import Row

from checks.bucket_sums import SlotSums
from checks.choose import Chosen, ChosenBuckets
from checks.findings import SlotFindings
from checks.name import CHANGED, name
from checks.named_defects import NamedDefects, as_counts
from checks.run_settings import RunSettings
from checks.run_state import Run
from checks.shown_defects import ShownDefects
from checks.source import Decided, Named
from checks.unread import Unread
from scrub.errors import StoreUnavailable
from scrub.model.defect import DefectKind
from scrub.model.request import Strategy
from scrub.model.result import Status
from tests.checks.keys.ground import IN_THIS_PROCESS
from tests.checks.plans import a_plan, numbered

SOME: Chosen = {0: ChosenBuckets(np.ones(16, bool))}
ALL: Chosen = {0: None}
MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING


class Source:
    """Entries of one index, of which it is given what a look at them shows, or how it fails."""

    def __init__(self, *kinds: DefectKind, strategy: Strategy = Strategy.AUTO) -> None:
        self.plan = a_plan("by_customer", strategy=strategy)
        self.slots, self.relations, self.parts = numbered(self.plan)
        self.unread = Unread()
        self.failures: list[StoreUnavailable] = []
        self.can_be_set_aside = True
        self.undecided: Mapping[int, int] = {}
        self.settles = True
        self.afterwards: Source | None = None  # what a later look is given
        held = [_row(kind, number) for number, kind in enumerate(kinds)]
        self.defects = NamedDefects.holding(held)

    @contextmanager
    def named(self, _slots: Sequence[int], _chosen: Chosen) -> Iterator[Named]:
        if self.failures:
            raise self.failures.pop()
        yield Named(self.defects)

    def decide(self, named: Named) -> Decided:
        held = named.defects.held or ()
        counts = as_counts((row["slot"], row["kind"], 1) for row in held)
        return Decided(named.defects, counts, self.undecided)

    def why_undecided(self, _slot: object, number: int) -> str:
        return f"{number} rows prove nothing"

    def once_per_row(self, *_: object) -> None:
        return None

    def counted_entries(self, _slot: object) -> tuple[int, int]:
        return 20, 19

    def can_settle(self, _slot: object) -> bool:
        return self.settles

    def later(self, _plan: object) -> "Source":
        return self.afterwards or self

    def try_otherwise(self, _error: object) -> bool:
        return False

    def set_aside(self, *_: object) -> bool:
        return self.can_be_set_aside

    def to_defect(self, row: Row, _slot: object) -> Any:
        return row["primary_key"]


def _row(kind: DefectKind, number: int) -> Row:
    return Row(slot=0, kind=kind.value, primary_key=[str(number)], index_key=["3"])


def run_of(source: Source, **settings: Any) -> Run:
    jobs, nothing = IN_THIS_PROCESS, cast(Any, None)
    pretended: Any = source
    return Run(
        plan=source.plan,
        settings=RunSettings(run_id="a run", **settings),
        source=pretended,
        jobs=jobs,
        finished=nothing,
        shown=ShownDefects(limit=10, on_defect=None, jobs=jobs),
        found={0: SlotFindings()},
        comparing={},
    )


def named_by(source: Source, chosen: Chosen = SOME, **settings: Any) -> tuple[Run, SlotFindings]:
    run = run_of(source, **settings)
    sums = SlotSums.empty(4)
    sums.buckets[:2, 2] = np.uint64(1)
    run.unnamed.note_sums(0, sums, [source.relations[0].side.facts])
    name(run, source.slots, chosen)
    return run, run.found[0]


def unnamed_of(run: Run) -> int:
    """How many differences the index is left with that have no name."""
    left = SlotFindings()
    run.unnamed.conclude(0, left, ())
    return left.unnamed


# Naming


def test_what_is_named_is_counted_and_shown_and_not_left_without_a_name() -> None:
    run, found = named_by(Source(MISSING, MISSING, DANGLING))
    assert (found.status, found.incomplete) == (Status.DEFECTIVE, None)
    assert found.counts == {MISSING: 2, DANGLING: 1}
    assert run.shown.defects == [["2"], ["0"], ["1"]]
    assert unnamed_of(run) == 0


def test_sums_that_differ_over_entries_that_agree_tell_of_a_change() -> None:
    _, found = named_by(Source())
    assert (found.status, found.incomplete) == (Status.INCOMPLETE, CHANGED)


def test_a_join_of_everything_that_agrees_is_clean_and_has_counted() -> None:
    _, found = named_by(Source(strategy=Strategy.MERGE), ALL)
    assert (found.status, found.strategy) == (Status.CLEAN, "merge")
    assert (found.rows, found.entries) == (20, 19)


@pytest.mark.parametrize(("chosen", "strategy"), [(SOME, None), (ALL, "merge")])
def test_joining_all_buckets_is_a_merge_whatever_was_planned(
    chosen: Chosen, strategy: str | None
) -> None:
    _, found = named_by(Source(MISSING), chosen)
    assert (found.strategy, found.rows) == (strategy, None)


def test_what_an_unread_part_could_explain_is_neither_counted_nor_shown() -> None:
    source = Source(MISSING, MISSING, DANGLING)
    source.unread.parts[2] = (source.parts[2], "gone")
    assert source.parts[2].relation is source.relations[1], "a part of the index"
    run, found = named_by(source)
    assert (found.counts, found.undecided) == ({DANGLING: 1}, 2)
    assert run.shown.defects == [["2"]]
    assert unnamed_of(run) == 2, "not everything was read, so not everything has its name"


def test_rows_that_prove_nothing_leave_their_differences_undecided() -> None:
    source = Source()
    source.undecided = {0: 3}
    _, found = named_by(source)
    assert (found.undecided, found.counts) == (3, {})
    assert found.incomplete == "3 rows prove nothing"


def test_a_kind_that_is_counted_elsewhere_keeps_its_count() -> None:
    source = Source(MISSING, DANGLING)
    source.unread.counted_elsewhere = frozenset({DANGLING})
    run = run_of(source)
    run.found[0].counts = {DANGLING: 5}
    name(run, source.slots, SOME)
    assert run.found[0].counts == {DANGLING: 5, MISSING: 1}


def test_what_fails_is_tried_again_once_the_cause_is_set_aside() -> None:
    source = Source(MISSING)
    source.failures = [StoreUnavailable("the server left")]
    _, found = named_by(source)
    assert found.counts == {MISSING: 1}


def test_what_fails_for_good_is_given_up_with_its_reason() -> None:
    source = Source(MISSING)
    source.failures, source.can_be_set_aside = [StoreUnavailable("the server left")], False
    run, found = named_by(source)
    assert found.counts == {}
    assert source.unread.slots == {0: "the server left"}
    assert unnamed_of(run) == 2


# Settling


def never(_: float) -> None:
    raise AssertionError("waited for nothing")


def test_what_a_later_look_does_not_find_was_transient() -> None:
    waited: list[float] = []
    source = Source(MISSING, MISSING, DANGLING)
    source.afterwards = Source(MISSING)
    run, found = named_by(
        source, settle_seconds=5.0, sleep=waited.append, plan_again=lambda: source.plan
    )
    assert (found.counts, found.transient) == ({MISSING: 1}, 2)
    assert waited == [5.0]
    assert run.shown.defects == [["0"]]


def test_without_a_defect_nobody_waits() -> None:
    _, found = named_by(Source(), settle_seconds=5.0, sleep=never)
    assert found.transient == 0


def test_what_was_not_read_in_full_is_not_settled_and_says_so() -> None:
    source = Source(MISSING)
    source.settles = False
    _, found = named_by(source, settle_seconds=5.0, sleep=never)
    assert found.notes == ["not settled: not everything could be read"]
    assert (found.counts, found.transient) == ({MISSING: 1}, 0)
