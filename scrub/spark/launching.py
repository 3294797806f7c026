# SPDX-License-Identifier: Apache-2.0
"""Starting Spark's JVM so that it ends with whoever started it.

PySpark lets go of a JVM that it is still waiting for: it removes the directory in which the JVM
wants to leave its port, and the JVM, which then fails but has threads of its own, never ends.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_ENDING_SECONDS = 3.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_started: list[subprocess.Popen[Any]] = []
"""The JVMs of this process: one, unless it ended and another was started."""


class LaunchUnwantedError(Exception):
    """Nobody needs the JVM any more that was about to be started."""


@contextmanager
def ended_if_interrupted(
    is_unwanted: Callable[[], bool] = lambda: False, stderr: int | None = None
) -> Iterator[None]:
    """A JVM that is started in the block is gone when the block is left by an exception.

    It writes errors to `stderr`, or where this process does.
    """
    from pyspark import java_gateway

    launcher: Any = java_gateway
    original, before = launcher.Popen, number_started()

    def launch(command: list[str], **options: Any) -> subprocess.Popen[Any]:
        if is_unwanted():
            raise LaunchUnwantedError
        with deferred_signals():  # between its start and our noting it, there is no way to end it
            # A group of its own: the shell scripts before the JVM have children, too.
            process: subprocess.Popen[Any] = original(
                command, process_group=0, stderr=stderr, **options
            )
            _started.append(process)
        return process

    launcher.Popen = launch
    try:
        yield
    except BaseException:
        end_since(before)
        raise
    finally:
        launcher.Popen = original


def number_started() -> int:
    """How many JVMs this process has started so far."""
    return len(_started)


def end_since(number: int) -> None:
    """End those that were started when there had been so many."""
    for process in _started[number:]:
        _end(process)


def end_all() -> None:
    """End what this process has started, however busy it is."""
    end_since(0)


def kill_all() -> None:
    """The same without waiting, and without a chance to remove temporary files."""
    for process in _started:
        if process.returncode is None:
            _signal(process, signal.SIGKILL)


def has_ended() -> bool:
    """Whether the JVM that sessions of this process use has gone; a borrowed one nobody knows."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = gateway.__dict__.get("proc") if gateway is not None else None
    return process is not None and process.poll() is not None


def _end(process: subprocess.Popen[Any]) -> None:
    """End a JVM and the scripts that started it; it may remove its temporary files first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        _signal(process, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_SECONDS)
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None and gateway.__dict__.get("proc") is process:
        # A later session of this process starts another one.
        SparkContext._gateway = SparkContext._jvm = None


def _signal(process: subprocess.Popen[Any], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Signals that come in the block take effect at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if came:
        signal.raise_signal(came[0])
