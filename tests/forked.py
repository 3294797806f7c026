# SPDX-License-Identifier: Apache-2.0
"""Processes for tests that kill them, forked from one that has made its imports already.

A process that starts Python and imports a store uses a second of CPU time before it can be killed
in the middle of something.
"""

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "tests.scrub.stores.delta.test_repair_trials",
        "tests.scrub.stores.delta.delta_worker",
        "tests.scrub.stores.postgres.repairs.postgres_ground",
    ]
)


class Forked:
    """A call in a process of its own; its first argument is where it can send a word to us."""

    def __init__(self, call: Callable[..., object], *arguments: Any) -> None:
        self._heard, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=call, args=(theirs, *arguments))
        self._process.start()
        theirs.close()

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def wait_for_word(self) -> None:
        """Until it sends something, or ends."""
        with suppress(EOFError):
            self._heard.recv()

    def wait(self) -> int | None:
        """Its exit code, once it has ended."""
        self._process.join()
        return self._process.exitcode

    def kill(self) -> bool:
        """End it with SIGKILL; whether it was still running."""
        was_running = self.is_running
        self._process.kill()
        self._process.join()
        return was_running
