# SPDX-License-Identifier: Apache-2.0
"""Vnodes are cut once from statistics, and may be split at any key later."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from scrub.model.stream.keys import Key, Slice
from scrub.model.stream.vnodes import Vnode


def cut(bounds: Sequence[Key], rows_expected: int = 0) -> tuple[Vnode, ...]:
    """Vnodes between the bounds, which are in order; one more than there are bounds."""
    assert all(low < high for low, high in pairwise(bounds)), "in order"
    edges = [None, *bounds, None]
    share, rest = divmod(rows_expected, len(bounds) + 1)
    return tuple(
        Vnode(slice=Slice(low, high), rows_expected=share + (number < rest))
        for number, (low, high) in enumerate(pairwise(edges))
    )


def split(vnodes: Sequence[Vnode], at: Key) -> tuple[Vnode, ...]:
    """The vnodes with the one that holds `at` in two, of which the right one begins there.

    Keys that were passed stay passed, whichever half they are in. Both halves keep the floors and
    the must-cover: what was dropped may belong to either.
    """
    number = next(n for n, vnode in enumerate(vnodes) if vnode.slice.holds(at))
    whole = vnodes[number]
    if whole.slice.low == at:
        return tuple(vnodes)
    return (*vnodes[:number], *_halves(whole, at), *vnodes[number + 1 :])


def _halves(whole: Vnode, at: Key) -> tuple[Vnode, Vnode]:
    is_left_passed = whole.is_finished or (whole.passed_to is not None and whole.passed_to >= at)
    unread = max(0, whole.rows_expected - whole.rows_read)
    left = replace(
        whole,
        slice=Slice(whole.slice.low, at),
        is_finished=is_left_passed,
        rows_expected=whole.rows_read + (0 if is_left_passed else unread // 2),
    )
    right = replace(
        whole,
        slice=Slice(at, whole.slice.high),
        passed_to=whole.passed_to if is_left_passed else None,
        rows_read=0,
        rows_expected=unread if is_left_passed else unread - unread // 2,
    )
    return left, right
