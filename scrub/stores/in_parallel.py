# SPDX-License-Identifier: Apache-2.0
"""The same work for several files at a time: reading and writing them leaves Python free."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

THREADS_MAX = 8


def in_parallel(work: Callable[[Given], Made], items: Sequence[Given]) -> list[Made]:
    """What the work makes of each item, in order; the first error is raised when all have ended."""
    threads = min(len(items), os.cpu_count() or 1, THREADS_MAX)
    if threads <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
