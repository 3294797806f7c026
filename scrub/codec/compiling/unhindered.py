# SPDX-License-Identifier: Apache-2.0
"""Keeps Python from looking for garbage while numba makes millions of objects that are none yet.

The search takes a sixth of all compiling. Without it, compiling takes some dozens of
megabytes more.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
