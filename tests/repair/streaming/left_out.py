# SPDX-License-Identifier: Apache-2.0
"""The rules of a stream, each of which can be left out of the code that runs.

A rule is left out by replacing the one function that holds it, so that tests show that this
function is needed, and not a copy of it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from repair.streaming.effects import Effect
from repair.streaming.epoch import end_epoch
from repair.streaming.judging import Barrier
from repair.streaming.running import StreamRun
from scrub.model.stream.changes import Change, Changes
from scrub.model.stream.coverage import NOTHING
from scrub.model.stream.epochs import Epoch, Verdict
from scrub.model.stream.heard import LastChange
from scrub.model.stream.keys import Key, Slice, Stretch
from scrub.model.stream.prefix_coverage import PrefixCoverage
from scrub.model.stream.vnodes import Vnode
from tests.repair.streaming import model_stream


def _judged_when_they_arrive(state: Any, changes: Changes, coverage: Any, **read: Any) -> Epoch:
    """Before the parts of the epoch count as passed."""
    heard = end_epoch(state, changes, coverage)
    passed = end_epoch(heard.state, Changes(), coverage, **read)
    writes = replace(heard.writes, parts=passed.writes.parts)
    return replace(heard, state=replace(passed.state, epoch=state.epoch + 1), writes=writes)


def _judged_by_the_new_key(self: Barrier, change: Change) -> None:
    key = change.removed if change.put is None else change.put
    assert key is not None
    verdict = self._verdict(Effect(change, key, change.put is None))
    if verdict is Verdict.APPLIED:
        both = [(change.removed, True), (change.put, False)]
        self._writes.change(change, [Effect(change, k, gone) for k, gone in both if k is not None])


def _passed_to_the_last_row(vnode: Vnode) -> Stretch | None:
    return None if vnode.passed_to is None else Stretch(None, vnode.passed_to)


def _without_tombstones(last: dict[Key, LastChange], effect: Effect) -> None:
    if effect.is_deletion:
        last.pop(effect.key, None)
    else:
        last[effect.key] = LastChange(effect.change.position, False)


_conclude = StreamRun._conclude


def _acknowledge_first(self: StreamRun, ended: Epoch) -> None:
    self._source.acknowledge(ended.state.resume)
    _conclude(self, ended)


_recover = StreamRun.recover


def _listening_before_restoring(self: StreamRun) -> None:
    _recover(self)
    self._source.changes(1)  # and they go nowhere


def _from_the_beginning(self: StreamRun) -> None:
    """Every vnode is read again, while its entries are still there."""
    _recover(self)
    vnodes = [replace(v, passed_to=None, is_finished=False, floors=()) for v in self.state.vnodes]
    self._state = replace(self.state, vnodes=tuple(vnodes))


def _halves_that_forget(whole: Vnode, at: Key) -> tuple[Vnode, Vnode]:
    bare = replace(whole, floors=(), must_cover=NOTHING)
    is_passed = whole.is_finished or (whole.passed_to is not None and whole.passed_to >= at)
    left = replace(bare, slice=Slice(whole.slice.low, at), is_finished=is_passed)
    right = replace(
        bare,
        slice=Slice(at, whole.slice.high),
        passed_to=whole.passed_to if is_passed else None,
    )
    return left, right


_upstream_coverage = model_stream.Upstream.coverage

RULES: dict[str, tuple[Any, str, Any]] = {
    "coverage is asked of the source": (
        model_stream.Upstream,
        "coverage",
        property(lambda _: PrefixCoverage()),
    ),
    "history covers everything before the start": (
        "repair.streaming.beginning",
        "demanded_by_the_start",
        lambda _: NOTHING,
    ),
    "changes are judged at the barrier": (
        "repair.streaming.running",
        "end_epoch",
        _judged_when_they_arrive,
    ),
    "what was not passed is dropped": ("repair.streaming.judging", "has_passed", lambda *_: True),
    "the places of a key change are judged apart": (
        Barrier,
        "_judge_effects",
        _judged_by_the_new_key,
    ),
    "a finished vnode has passed its whole slice": (
        Vnode,
        "passed",
        property(_passed_to_the_last_row),
    ),
    "passed places have a floor": ("repair.streaming.judging", "floor_at", lambda *_: None),
    "what was dropped must be covered": (
        "repair.streaming.judging",
        "with_dropped",
        lambda must, *_: must,
    ),
    "must-cover lasts until the vnode is finished": (
        "repair.streaming.passing",
        "still_demanded",
        lambda *_: NOTHING,
    ),
    "an ordered source has a high-water mark": (
        "repair.streaming.hearing",
        "is_below_the_mark",
        lambda *_: False,
    ),
    "last positions are kept": ("repair.streaming.hearing", "note_last", lambda *_: None),
    "tombstones are kept": ("repair.streaming.hearing", "note_last", _without_tombstones),
    "they are kept for the whole window": (
        "repair.streaming.hearing",
        "may_be_followed_by_earlier",
        lambda *_: False,
    ),
    "a row that nobody has is read again": (
        "repair.streaming.judging",
        "lacks_values",
        lambda *_: False,
    ),
    "what is late goes to the quarantine": (
        "repair.streaming.hearing",
        "is_late",
        lambda *_: False,
    ),
    "output and state are one commit": (model_stream, "ModelSink", None),
    "the source is acknowledged after the commit": (
        StreamRun,
        "_conclude",
        _acknowledge_first,
    ),
    "the state is restored before the first change": (
        StreamRun,
        "recover",
        _listening_before_restoring,
    ),
    "a vnode goes on behind its position": (StreamRun, "recover", _from_the_beginning),
    "both halves of a split keep what was known": (
        "repair.streaming.cutting",
        "_halves",
        _halves_that_forget,
    ),
}
"""Where each rule is, and what is there without it."""


@contextmanager
def leaving_out(rule: str) -> Iterator[None]:
    place, name, without = RULES[rule]
    if without is None:
        without = _tearing(getattr(place, name))
    with ExitStack() as stack:
        if isinstance(place, str):
            stack.enter_context(patch(f"{place}.{name}", without))
        else:
            stack.enter_context(patch.object(place, name, without))
        yield


def _tearing(sink: type[model_stream.ModelSink]) -> Callable[..., model_stream.ModelSink]:
    return lambda moment: sink(moment, tears=True)
