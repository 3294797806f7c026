# SPDX-License-Identifier: Apache-2.0
"""Streams, as text for people and as JSON for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from reports.escaping import printable
from reports.records import as_json
from reports.screen import PAPER, Screen
from reports.wrapping import wrapped
from scrub.model.command_line import command_line
from scrub.model.stream.requests import (
    Phase,
    StreamPlan,
    StreamResult,
    StreamStatus,
    VnodeProgress,
)

_MEANING = {
    Phase.BEGINNING: "beginning: nothing is read yet",
    Phase.BUILDING: "being built",
    Phase.PUBLIC: "public",
    Phase.DROPPING: "being dropped",
}
_BAR_CELLS = 64
_SHADES = ".:-=+*#"
_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1024


def stream_plan_as_text(plan: StreamPlan, screen: Screen = PAPER) -> str:
    about = f" (about {plan.rows:,} rows)" if plan.rows is not None else ""
    head = f"To stream {', '.join(plan.indexes)} of {plan.table}{about}:"
    lines = map(printable, [head, *(f"  - {step}" for step in plan.steps)])
    return wrapped("\n".join(lines), screen)


def stream_plan_as_json(plan: StreamPlan) -> str:
    return as_json({"schema_version": 1, "executed": False, "plan": asdict(plan)}, indent=2)


def stream_as_text(
    status: StreamStatus, screen: Screen = PAPER, *, catalog: Path | None = None
) -> str:
    lines = map(printable, _lines(status, catalog))
    return wrapped("\n".join(lines), screen)


def stream_as_json(status: StreamStatus, *, executed: bool = True) -> str:
    """`executed` is written for previews only: they show the state before anything is done."""
    preview = {} if executed else {"executed": False}
    return as_json({"schema_version": 1} | preview | {"stream": _record(status)}, indent=2)


def stream_result_as_json(result: StreamResult) -> str:
    why = {"refused": result.refused, "unchecked": result.unchecked}
    record = {"schema_version": 1, "stream": _record(result.status), **why}
    return as_json(record, indent=2)


def dropped_as_text(status: StreamStatus, screen: Screen = PAPER) -> str:
    named = ", ".join(status.indexes)
    text = f"{named} of {status.table}: dropped, with the state and the slot {status.slot}"
    return wrapped(printable(text), screen)


def _lines(status: StreamStatus, catalog: Path | None) -> Iterator[str]:
    def command(verb: str, *more: str) -> str:
        return command_line(f"stream {verb}", status.table, *more, catalog=catalog)

    named = ", ".join(status.indexes)
    yield f"{named} of {status.table}: {_MEANING[status.phase]}"
    first, *others = (status.failure or "").split("\n")
    if first:
        yield f"  why it is not public: {first}"
        yield from (f"    {line}" for line in others)
    if status.phase is Phase.DROPPING:
        yield f"  to finish that: {command('drop', '--execute')}"
        return
    yield from _how_far(status)
    yield from _how_current(status)
    if status.slot_lost:
        yield f"  the server has given up the slot {status.slot}: {status.slot_lost}"
        yield f"  changes are gone: {command('drop', '--execute')}, then run it again"
    yield from _paused(status, command("resume"))
    if status.waiting:
        yield f"  waiting for a newer snapshot: {status.waiting:,} slices"
    if status.runner:
        yield f"  run by {status.runner}"
    elif not status.slot_lost:
        yield f"  not running, so nothing is applied: {command('resume')}"


def _paused(status: StreamStatus, resume: str) -> Iterator[str]:
    """What a pause means depends on whether anybody runs the stream."""
    if not (status.paused or status.paused_all):
        return
    if status.runner is None:
        yield "  paused"
    elif status.paused_all:
        yield f"  paused, changes too: the slot keeps all of the log; {resume}"
    else:
        yield f"  paused; changes are still applied: {resume}"


def _how_far(status: StreamStatus) -> Iterator[str]:
    if status.vnodes and not all(vnode.is_finished for vnode in status.vnodes):
        yield f"  history: [{vnode_bar(status.vnodes)}] {status.percent:.1f} %"
    rate = f", {status.rows_a_second:,.0f} rows/s" if status.rows_a_second else ""
    left = f", {status.seconds_left:,.0f} s left" if status.seconds_left is not None else ""
    yield f"  read: {status.rows:,} of about {_at_least(status):,} rows{rate}{left}"
    yield (
        f"  changes: {status.changes_applied:,} applied, {status.changes_covered:,} shown by the "
        f"history already, {status.changes_dropped:,} left to the history, "
        f"{status.changes_repeated:,} heard twice"
    )
    share = status.writes_per_row
    per_row = f", {share:.2f} for each row" if share is not None else ""
    written = f", {status.entries_a_second:,.0f}/s" if status.entries_a_second else ""
    yield f"  entries written: {status.entries_written:,}{written}{per_row}"
    yield f"  epochs: {status.epochs:,}"
    if status.rows_per_second:
        yield f"  allowed: {status.rows_per_second:,} rows/s"


def _at_least(status: StreamStatus) -> int:
    """Estimates may be too low."""
    if status.vnodes and all(vnode.is_finished for vnode in status.vnodes):
        return status.rows
    return max(status.rows, status.rows_expected)


def _how_current(status: StreamStatus) -> Iterator[str]:
    behind = []
    if status.lag_seconds is not None:
        behind.append(f"{status.lag_seconds:,.0f} s")
    if status.lag_bytes is not None:
        behind.append(f"{_size(status.lag_bytes)} of the log")
    if behind:
        yield f"  behind: {', '.join(behind)}"
    if status.log_kept is not None:
        yield f"  kept by the slot {status.slot}: {_size(status.log_kept)} of the log"


def _size(number: float) -> str:
    for unit in _UNITS[:-1]:
        if number < _STEP:
            return f"{number:,.0f} {unit}"
        number /= _STEP
    return f"{number:,.0f} {_UNITS[-1]}"


def vnode_bar(vnodes: Sequence[VnodeProgress]) -> str:
    """How far slices were read, in the order of keys; a cell is full when all of its are."""
    cells = min(_BAR_CELLS, len(vnodes))
    return "".join(
        _shade(vnodes[n * len(vnodes) // cells : (n + 1) * len(vnodes) // cells])
        for n in range(cells)
    )


def _shade(vnodes: Sequence[VnodeProgress]) -> str:
    if all(vnode.is_finished for vnode in vnodes):
        return _SHADES[-1]
    share = sum(vnode.share for vnode in vnodes) / len(vnodes)
    begun = any(vnode.rows_read for vnode in vnodes)
    return _SHADES[max(int(begun), min(int(share * len(_SHADES)), len(_SHADES) - 2))]


def _record(status: StreamStatus) -> dict[str, object]:
    more = {
        "percent": status.percent,
        "writes_per_row": status.writes_per_row,
        "seconds_left": status.seconds_left,
    }
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in (asdict(status) | more).items()
    }
