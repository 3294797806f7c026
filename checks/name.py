# SPDX-License-Identifier: Apache-2.0
"""The stage that names what differs: joins the entries of chosen buckets and counts the defects."""

from collections.abc import Sequence

from checks.choose import Chosen
from checks.failures import Failure, failures
from checks.findings import SlotFindings
from checks.named_defects import Counts, NamedDefects, count
from checks.numbering import Slot
from checks.run_state import Run
from checks.settle import settle
from checks.source import Named
from scrub.model.defect import DefectKind
from scrub.model.request import Strategy
from scrub.spark.collecting import translated

CHANGED = (
    "fingerprints differ, but the entries agree: "
    "the data changed while it was read; run the check again"
)


def name(run: Run, group: Sequence[Slot], chosen: Chosen) -> None:
    """Name what is wrong with some indexes; what cannot be named is noted."""
    run.report("naming defects")
    while slots := run.left(group):
        try:
            numbers = [slot.number for slot in slots]
            with translated(), run.source.named(numbers, chosen) as named:
                _take(run, named, slots, chosen)
                return
        except failures() as error:
            if not worth_another_try(run, error, slots):
                run.give_up(slots, error)


def worth_another_try(run: Run, error: Failure, slots: Sequence[Slot]) -> bool:
    """Whether naming is worth another try, because what was in its way is not any more."""
    source = run.source
    if source.try_otherwise(error):
        return True
    return source.set_aside(error, source.unread.readable(source.parts), slots)


def leave_undecided(run: Run, named: Named, slots: Sequence[Slot]) -> tuple[NamedDefects, Counts]:
    """The defects without what rows that prove nothing could explain, and their counts."""
    decided = run.source.decide(named)
    for slot in slots:
        found, undecided = run.found[slot.number], decided.undecided.get(slot.number, 0)
        found.undecided = run.source.unread.doubted(slot) + undecided
        if undecided:
            found.incomplete = run.source.why_undecided(slot, undecided)
    return decided.defects, decided.counts


def _take(run: Run, named: Named, slots: Sequence[Slot], chosen: Chosen) -> None:
    """Count defects, settle them if asked to, and collect those to be shown."""
    defects, counts = leave_undecided(run, named, slots)
    for slot in slots:
        _note_strategy(run, slot, chosen)
        found = run.found[slot.number]
        is_named = slot.number in counts or found.undecided
        if not is_named and not _is_joined(run, slot):
            found.incomplete = CHANGED
    if once := run.source.once_per_row(defects, counts):
        defects, counts = once, count(once, run.jobs)
    if counts and run.settings.settle_seconds is not None:
        defects, counts = settle(run, defects, counts, slots, chosen)
    apart = {slot.number: _count_in(run, slot, counts.get(slot.number, {})) for slot in slots}
    if any(run.found[slot.number].counts for slot in slots):
        run.shown.add_named(defects.decided(apart), run.as_defect)
    for slot in slots:
        if slot.number in named.sharing:
            add_sharing(run, slot, named.sharing[slot.number])


def _count_in(run: Run, slot: Slot, counts: dict[DefectKind, int]) -> frozenset[DefectKind]:
    """Put the counts of an index into its findings; returns the kinds that are not shown."""
    found, relations = run.found[slot.number], run.relations_of(slot)
    counts = without_unsought(slot, found, counts)
    undecidable = run.source.unread.undecidable(slot, *relations)
    elsewhere = run.source.unread.counted_elsewhere
    found.undecided += sum(counts.get(kind, 0) for kind in undecidable)
    apart = undecidable | elsewhere
    before = {kind: number for kind, number in found.counts.items() if kind in elsewhere}
    found.counts = before | {kind: n for kind, n in counts.items() if kind not in apart}
    if run.is_whole(slot):
        run.unnamed.forget(slot.number)
    return apart | frozenset(slot.plan.not_looked_for)


def without_unsought(
    slot: Slot, found: SlotFindings, counts: dict[DefectKind, int]
) -> dict[DefectKind, int]:
    """The counts without kinds that nobody looked for; what was seen of them by chance is noted."""
    seen = sum(counts.get(kind, 0) for kind in slot.plan.not_looked_for)
    if seen:
        entries = "1 entry has" if seen == 1 else f"{seen:,} entries have"
        found.notes.append(
            f"seen without looking: {entries} the primary key of a chosen row, but no chosen row "
            "demands so many; a check without --where tells what they are"
        )
    return {kind: n for kind, n in counts.items() if kind not in slot.plan.not_looked_for}


def _is_joined(run: Run, slot: Slot) -> bool:
    """Whether it is joined whether or not anything differs."""
    return run.plan.strategy is Strategy.MERGE or slot.number in run.joined


def _note_strategy(run: Run, slot: Slot, chosen: Chosen) -> None:
    found = run.found[slot.number]
    if chosen[slot.number] is None:
        found.strategy = Strategy.MERGE.value
    if _is_joined(run, slot):
        found.rows, found.entries = run.source.counted_entries(slot)


def add_sharing(run: Run, slot: Slot, sharing: NamedDefects) -> None:
    """Count the rows that share a key of a unique index, and collect those to be shown."""
    counts = count(sharing, run.jobs).get(slot.number, {})
    run.found[slot.number].counts |= counts
    if counts:
        run.shown.add_named(sharing, run.as_defect)
