# SPDX-License-Identifier: Apache-2.0
"""Looking again in a later snapshot: a difference that is gone by then was lag, not damage."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from checks.choose import Chosen
from checks.jobs import Jobs
from checks.named_defects import Counts, HeldDefect, NamedDefects, count
from checks.numbering import Slot
from checks.run_state import Run
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def settle(
    run: Run, defects: NamedDefects, counts: Counts, slots: Sequence[Slot], chosen: Chosen
) -> tuple[NamedDefects, Counts]:
    """The defects that a later look at the same buckets finds again, and their counts."""
    again = [slot for slot in slots if run.source.can_settle(slot)]
    for slot in slots:
        if slot not in again:
            run.found[slot.number].notes.append("not settled: not everything could be read")
    if not again:
        return defects, counts
    seconds = run.settings.settle_seconds or 0.0
    run.report(f"waiting {seconds:g} s to look again")
    run.settings.sleep(seconds)
    assert run.settings.plan_again is not None, "settling needs a later plan"
    later = run.source.later(run.settings.plan_again())
    numbers = [slot.number for slot in again]
    with later.named(numbers, chosen) as found_again:
        remaining = _settled(defects, found_again.defects, frozenset(numbers), run.jobs)
        left = count(remaining, run.jobs)
    for slot in again:
        before = sum(counts.get(slot.number, {}).values())
        run.found[slot.number].transient = before - sum(left.get(slot.number, {}).values())
    return remaining, left


def _settled(
    defects: NamedDefects, later: NamedDefects, looked_at: frozenset[int], jobs: Jobs
) -> NamedDefects:
    """Those found again, and those of indexes that nobody could look at again."""
    if defects.held is not None and later.held is not None:
        again = set(map(_identity_of, later.held))
        return NamedDefects.holding(
            one
            for one in defects.held
            if one["slot"] not in looked_at or _identity_of(one) in again
        )
    before = defects.as_frame(jobs)
    settled = still_there(before, later.as_frame(jobs)).unionAll(
        before.where(~F.col("slot").isin(sorted(looked_at)))
    )
    return NamedDefects(jobs.computed(settled))


def _identity_of(defect: HeldDefect) -> tuple[object, ...]:
    keys = (tuple(defect[name]) for name in ("primary_key", "index_key"))
    return defect["slot"], defect["kind"], *keys


def still_there(defects: "DataFrame", later: "DataFrame") -> "DataFrame":
    """Those defects that a later look at the same buckets finds again."""
    again = later.select(_identity().alias("again"))
    return defects.join(again, _identity() == F.col("again"), "left_semi")


def _identity() -> "Column":
    return F.to_json(
        F.struct("slot", "kind", "primary_key", "index_key"), {"ignoreNullFields": "false"}
    )
