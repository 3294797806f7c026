# SPDX-License-Identifier: Apache-2.0
"""Processes of tests, forked from one that has made its imports already.

A process that starts Python and imports a store uses a second of CPU time before it can be killed
in the middle of something, or answers.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "tests.scrub.stores.delta.test_repair_trials",
        "tests.scrub.stores.delta.delta_worker",
        "tests.scrub.stores.postgres.repairs.postgres_ground",
        "tests.programs",
        # What commands import when they are at work.
        "scrub.cli.check",
        "scrub.app.checking.preparation",
        "scrub.app.checking.tables",
        "scrub.catalog.sql",
        "scrub.stores.files.store",
        "checks.registry",
    ]
)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process printed, and how it ended."""

    code: int | None
    out: str
    err: str


def run_forked(
    call: Callable[..., object], *arguments: Any, cwd: Path, env: Mapping[str, str] = os.environ
) -> Ended:
    """Run a function as a program: in a directory, with variables, until it ends or exits.

    What Python does at the very end of a process it does not do; so no Spark may be started.
    """
    with tempfile.TemporaryDirectory() as directory:
        said = [Path(directory, name) for name in ("out", "err")]
        whole = (cwd, dict(env), said, call, arguments)
        process = _CONTEXT.Process(target=_as_program, args=whole)
        process.start()
        process.join()
        return Ended(process.exitcode, *(path.read_text() for path in said))


def _as_program(
    cwd: Path,
    env: Mapping[str, str],
    said: list[Path],
    call: Callable[..., object],
    arguments: tuple[Any, ...],
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(said, 1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    call(*arguments)


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
