# SPDX-License-Identifier: Apache-2.0
"""How far the history has been read. It never exceeds 100 % and never goes back."""

from collections.abc import Sequence

from scrub.model.stream.vnodes import Vnode

WHOLE = 10_000
"""Progress is counted in ten-thousandths."""


def progress(vnodes: Sequence[Vnode]) -> int:
    """Of the whole history, in ten-thousandths. It is whole only if every vnode is finished.

    Expected rows are estimates: a vnode with more rows than expected stays just below its share.
    """
    if all(vnode.is_finished for vnode in vnodes):
        return WHOLE
    shares = [max(1, vnode.rows_expected) for vnode in vnodes]
    done = sum(
        share if vnode.is_finished else min(vnode.rows_read, share)
        for vnode, share in zip(vnodes, shares, strict=True)
    )
    return min(WHOLE - 1, done * WHOLE // sum(shares))
