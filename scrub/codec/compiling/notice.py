# SPDX-License-Identifier: Apache-2.0
"""Says that loops are being compiled, to whoever wants to tell a user why nothing happens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILING = "compiling loops, once after an installation: some seconds"

_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compiling(listener: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, have a function called once if any loop is compiled."""
    _listeners.append(listener)
    try:
        yield
    finally:
        if listener in _listeners:
            _listeners.remove(listener)


def compiling() -> None:
    """Called before anything is compiled."""
    while _listeners:
        _listeners.pop()()
