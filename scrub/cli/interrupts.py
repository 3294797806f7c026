# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM: what runs is stopped, nothing is reported, and the exit code says so.

The first signal raises KeyboardInterrupt, so that files and transactions are left in order. What
meets it on its way may turn it into an error of its own: a job that was cancelled, a connection
that is gone. So a command whose end came with a signal is interrupted, however it ended. A second
signal ends everything at once.
"""

import logging
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from scrub.errors import ScrubError

_came: list[int] = []


def listen() -> None:
    """From now on, signals are ours; Spark would replace what Python does with them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)
    # Py4J tells of a call that was interrupted with a traceback, whoever wants to know.
    logging.getLogger().addHandler(logging.NullHandler())


def exit_code() -> int | None:
    """As shells count: 130 for Ctrl-C, 143 for SIGTERM; None if no signal came."""
    return 128 + _came[0] if _came else None


def leave_if_one_came() -> None:
    """End the process after a signal, and before it the JVM, which may be busy still.

    Not by `sys.exit`: Python would wait for threads that nobody waits for any more, and while it
    does, the next signal would end it by another code.
    """
    if (code := exit_code()) is None:
        return
    if launching := sys.modules.get("scrub.spark.launching"):
        launching.end_all()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, ScrubError):
            stream.flush()
    os._exit(code)


def demand_no_signal() -> None:
    """Raise again what something has swallowed: an interrupted command has no result."""
    if _came:
        raise KeyboardInterrupt


def _on_signal(number: int, _: FrameType | None) -> None:
    if _came:
        _leave_at_once()
    _came.append(number)
    # Whoever waits for a job would wait on, since Spark knows nothing of signals.
    if sessions := sys.modules.get("scrub.spark.session"):
        sessions.stop_jobs()
    raise KeyboardInterrupt


def _leave_at_once() -> None:
    if launching := sys.modules.get("scrub.spark.launching"):
        launching.kill_all()
    os._exit(exit_code() or 1)
