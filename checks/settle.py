# SPDX-License-Identifier: Apache-2.0
"""Looking again in a later snapshot: a difference that is gone by then was lag, not damage."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checks.choose import Chosen
from checks.named_defects import Counts, NamedDefects, count
from checks.numbering import Slot
from checks.run_state import Run


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
        settled = still_there(defects.frame, found_again.defects.frame)
        if len(again) < len(slots):
            settled = settled.unionAll(defects.frame.where(~F.col("slot").isin(numbers)))
        remaining = NamedDefects(run.jobs.computed(settled))
        left = count(remaining, run.jobs)
    for slot in again:
        before = sum(counts.get(slot.number, {}).values())
        run.found[slot.number].transient = before - sum(left.get(slot.number, {}).values())
    return remaining, left


def still_there(defects: DataFrame, later: DataFrame) -> DataFrame:
    """Those defects that a later look at the same buckets finds again."""
    again = later.select(_identity().alias("again"))
    return defects.join(again, _identity() == F.col("again"), "left_semi")


def _identity() -> Column:
    return F.to_json(
        F.struct("slot", "kind", "primary_key", "index_key"), {"ignoreNullFields": "false"}
    )
