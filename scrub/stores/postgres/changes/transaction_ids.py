# SPDX-License-Identifier: Apache-2.0
"""Ids of transactions with their epoch, which changes come without and snapshots with."""

_EPOCH = 1 << 32
_HALF = _EPOCH >> 1


def widened(xid: int, near: int) -> int:
    """The 64-bit id with these lower 32 bits that is nearest to another one.

    The server never has two transactions in use that are half of all short ids apart.
    """
    distance = (xid - near + _HALF) % _EPOCH - _HALF
    return near + distance
