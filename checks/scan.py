# SPDX-License-Identifier: Apache-2.0
"""The stage that reads everything once: sums of all indexes, and what other checks count.

A run starts with one job that is enough for most tables and goes on in jobs of about half a minute.
After each of them the sums are kept, so that the same check can resume.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from checks.choose import Chosen, differing_buckets
from checks.failures import Failure, failures
from checks.finished_parts import Finished
from checks.numbering import Slot
from checks.parts import Part, next_job
from checks.run_state import Run
from scrub.model.request import Strategy
from scrub.pacing import current
from scrub.spark.collecting import translated


def scan(run: Run) -> None:
    """Add up the parts that no interrupted run has added up before."""
    state, settings = run.source.state, run.settings
    wanted = _wanted(run, run.source.parts)
    rows_total = sum(part.rows for part in wanted)
    remaining = [part for part in wanted if part.number not in state.done]
    while remaining:
        limits = pace.limits if (pace := current()) else None
        count = next_job(remaining, settings.job_size, state.rows_per_second, limits)
        job, remaining = tuple(remaining[:count]), remaining[count:]
        job_rows, started = sum(part.rows for part in job), time.monotonic()

        def report(fraction: float, ahead: int = job_rows) -> None:
            done = state.rows_done + int(fraction * ahead)
            run.report("comparing fingerprints", done, rows_total)

        report(0.0)
        with run.jobs.watched(settings.run_id, report):
            _add_up_all(run, job)
        state.note_speed(job_rows, time.monotonic() - started)
        report(0.0, 0)
        if remaining and _can_be_kept(run):
            run.finished.save(
                Finished(
                    state.salt, frozenset(state.done), state.sums, state.bytes_read, _kept(run)
                )
            )


def look_beside(run: Run) -> None:
    """Look at what the scan could not show; if that fails, nothing can be relied on."""
    try:
        run.source.look_beside(run.shown, run.found)
    except failures() as error:
        run.give_up(run.source.slots, error)
        _give_up_riding(run, run.source.parts, error)


def choose(run: Run) -> Chosen:
    """The indexes that differ, and the buckets of each to look into."""
    if run.plan.strategy is Strategy.MERGE:
        return {s.number: None for s in run.source.slots if s.number not in run.comparing}
    unread, sums = run.source.unread, run.source.state.sums.slots
    apart = {*run.comparing, *run.joined}
    compared = {number: of for number, of in sums.items() if number not in apart}
    for number, of_slot in compared.items():
        if number in unread.slots and not run.source.sets_aside:
            continue  # a job that failed as a whole has counted nothing
        found = run.found[number]
        found.rows, found.entries = of_slot.expected, of_slot.actual
        found.strategy = run.source.shown_strategy
    left = {number: of for number, of in compared.items() if number not in unread.slots}
    if run.settings.settle_seconds is None:  # what nobody can look at again may be lag
        for number, of_slot in left.items():
            slot = run.source.slots[number]
            if run.is_whole(slot) and not slot.plan.by_rows:  # which an entry of no row may explain
                sides = [relation.side.facts for relation in run.relations_of(slot)]
                run.unnamed.note_sums(number, of_slot, sides)
    may_join_all = run.plan.strategy is Strategy.AUTO and run.source.joins_all
    return differing_buckets(left, may_join_all=may_join_all)


def _can_be_kept(run: Run) -> bool:
    """Whether what was scanned so far is all that a later run needs of it."""
    source = run.source
    if run.plan.strategy is Strategy.MERGE or source.unread.slots:
        return False
    reports = [report for of in source.state.reports.values() for report in of.values()]
    given_up = any(riding.gave_up for riding in source.riding.values())
    return not given_up and all("error" not in report for report in reports)


def _kept(run: Run) -> dict[int, dict[str, Mapping[str, Any]]]:
    riding = run.source.riding
    return {
        number: {name: riding[name].kept(report) for name, report in of.items()}
        for number, of in run.source.state.reports.items()
    }


def _give_up_riding(run: Run, parts: Sequence[Part], error: Failure) -> None:
    for riding in run.source.riding.values():
        riding.give_up(parts, error)


def _add_up_all(run: Run, job: tuple[Part, ...]) -> None:
    for native in (True, False):
        of_engine = [part for part in job if part.relation.is_native == native]
        while parts := _wanted(run, of_engine):
            try:
                with translated():
                    _add_up(run, parts)
                break
            except failures() as error:
                slots = _slots_of(run, parts)
                if not run.source.set_aside(error, parts, slots):
                    run.give_up(slots, error)
                    _give_up_riding(run, parts, error)


def _add_up(run: Run, parts: tuple[Part, ...]) -> None:
    job = run.source.fingerprints(parts, _summed(run))
    for part, reason in run.source.state.add(run.jobs.arrow(job), parts):
        run.source.unread.parts[part.number] = (part, reason)


def _wanted(run: Run, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Those that can be read and serve an index to be added up, or a check that rides along."""
    slots = _summed(run)
    return tuple(
        part
        for part in run.source.unread.readable(parts)
        if any(slot.number in slots for slot in part.relation.slots)
        or any(riding.wants(part) for riding in run.source.riding.values())
    )


def _summed(run: Run) -> frozenset[int]:
    """The indexes that are fingerprinted: none when everything is joined anyway."""
    if run.plan.strategy is Strategy.MERGE:
        return frozenset()
    apart = {*run.comparing, *run.joined}
    return frozenset(slot.number for slot in run.left(run.source.slots) if slot.number not in apart)


def _slots_of(run: Run, parts: Sequence[Part]) -> list[Slot]:
    numbers = {slot.number for part in parts for slot in part.relation.slots}
    return [slot for slot in run.left(run.source.slots) if slot.number in numbers]
