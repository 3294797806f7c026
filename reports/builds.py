# SPDX-License-Identifier: Apache-2.0
"""Builds of indexes, as text for people and as JSON for programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

from reports.escaping import printable
from reports.records import as_json
from reports.screen import PAPER, Screen
from reports.wrapping import wrapped
from scrub.model import backfill
from scrub.model.backfill import BackfillPlan, BackfillStatus
from scrub.model.build import State
from scrub.model.command_line import command_line

Command = Callable[..., str]  # from a verb of `scrub backfill` to the line to be pasted

_MEANING = {
    State.DELETE_ONLY: "beginning: writers delete from it, nothing is put yet",
    State.WRITE_AND_DELETE: "beginning: writers keep it, nothing is loaded yet",
    State.BACKFILLING: "being loaded",
    State.MERGE_DELETE_ONLY: "loaded; writers delete from it",
    State.MERGING: "loaded; concurrent writes are being merged",
    State.VALIDATING: "loaded; being checked",
    State.PUBLIC: "public",
    State.REVERSING: "being reversed",
    State.REVERSED: "not there",
}


def plan_as_text(plan: BackfillPlan, screen: Screen = PAPER) -> str:
    about = f" (about {plan.rows:,} rows)" if plan.rows is not None else ""
    how = f", method {plan.method}" if plan.method else ""
    head = f"To build {', '.join(plan.indexes)} of {plan.table}{about}{how}:"
    lines = map(printable, [head, *(f"  - {step}" for step in plan.steps)])
    return wrapped("\n".join(lines), screen)


def plan_as_json(plan: BackfillPlan) -> str:
    return as_json({"schema_version": 1, "executed": False, "plan": asdict(plan)}, indent=2)


def builds_as_text(
    builds: Sequence[BackfillStatus], screen: Screen = PAPER, *, catalog: Path | None = None
) -> str:
    if not builds:
        return "no index of this table was built by scrub"
    lines = [printable(line) for build in builds for line in _lines(build, catalog)]
    return wrapped("\n".join(lines), screen)


def _lines(build: BackfillStatus, catalog: Path | None) -> Iterator[str]:
    command = partial(_command, build, catalog)
    meaning = "loaded, and not published" if _is_refused(build) else _MEANING[build.state]
    state = "" if meaning == build.state else f" ({build.state})"
    yield f"{', '.join(build.indexes)} of {build.table}: {meaning}{state}"
    if build.state is State.REVERSED:
        yield from _why_it_is_gone(build, command)
        return
    yield from _why(build)
    yield from _how_far(build)
    if build.state is State.PUBLIC:
        yield from _what_fits_no_longer(build, command)
    else:
        yield from _how_to_go_on(build, command)


def _command(build: BackfillStatus, catalog: Path | None, verb: str, *more: str) -> str:
    return command_line(f"backfill {verb}", build.table, *more, catalog=catalog)


def _is_refused(build: BackfillStatus) -> bool:
    """By the gate; an index that follows its table stays as it is, and can be tried again."""
    return build.state is State.VALIDATING and build.failure is not None


def _how_far(build: BackfillStatus) -> Iterator[str]:
    if build.rows or (build.state is State.BACKFILLING and build.method):
        is_part = build.state is State.BACKFILLING and build.rows_expected is not None
        of = f" of about {build.rows_expected:,}" if is_part else ""
        rate = f", {build.rows_a_second:,.0f} rows/s" if build.rows_a_second else ""
        left = f", {build.seconds_left:,.0f} s left" if build.seconds_left is not None else ""
        yield f"  loaded: {build.rows:,}{of} rows, {build.entries:,} entries{rate}{left}"
        yield (
            f"  chunks: {build.fast_chunks:,} fast, {build.slow_chunks:,} slow, "
            f"{build.gave_way:,} rolled back for waiting writers, "
            f"{build.conflicts:,} entries in conflict"
        )
    if build.merged:
        yield f"  merged: {build.merged:,} records of writers"
    if build.rows_per_second:
        yield f"  allowed: {build.rows_per_second:,} rows/s"
    if build.paused:
        yield "  paused"
    if build.shown_version is not None:
        yield (
            f"  {build.entries:,} entries, as of version {build.shown_version} of the table, "
            f"which is at version {build.table_version}"
        )


def _how_to_go_on(build: BackfillStatus, command: Command) -> Iterator[str]:
    if build.runner:
        yield f"  run by {build.runner}"
    elif _is_refused(build):
        yield f"  correct the rows, and go on: {command('resume')}"
        yield f"  or reverse it: {command('cancel', '--execute')}"
    elif build.method:
        yield f"  not running: {command('resume')}"
    else:  # who works on files leaves no trace before it commits
        yield f"  if it is not running: {command('resume', build.indexes[0])}"
    for writer in build.waiting_for:
        yield f"  writing now: {writer}"


def _what_fits_no_longer(build: BackfillStatus, command: Command) -> Iterator[str]:
    yield from (f"  to be renewed: {line}" for line in build.to_renew)
    if build.to_renew:
        renew = command("renew", *build.indexes)
        yield f"  correct the catalog where it is the catalog's turn: {renew}"
    yield from (f"  to be checked: {line}" for line in build.to_check)
    if build.to_check:
        yield f"  look at its entries: {command('verify', *build.indexes)}"


def _why(build: BackfillStatus) -> Iterator[str]:
    first, *others = (build.failure or "").split("\n")
    if first:
        yield f"  why: {first}"
        yield from (f"    {line}" for line in others)


def _why_it_is_gone(build: BackfillStatus, command: Command) -> Iterator[str]:
    match build.failure:
        case backfill.DROPPED:
            yield "  dropped, with everything that kept it"
        case backfill.CANCELLED:
            yield "  cancelled: everything it had made was removed"
        case str():
            yield from _why(build)
            yield "  everything it had made was removed; correct that, and run again:"
            yield f"  {command('run', *build.indexes, '--execute')}"


def builds_as_json(builds: Sequence[BackfillStatus], *, executed: bool = True) -> str:
    """`executed` is written for previews only: they show the state before anything is done."""
    preview = {} if executed else {"executed": False}
    records = [_record(build) for build in builds]
    return as_json({"schema_version": 1} | preview | {"builds": records}, indent=2)


def _record(build: BackfillStatus) -> dict[str, object]:
    values = asdict(build) | {"seconds_left": build.seconds_left}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
    }
