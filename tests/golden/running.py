# SPDX-License-Identifier: Apache-2.0
"""Runs one command line in this process and keeps everything that it shows."""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrub.cli import main
from tests.golden.places import Place

Act = Callable[[Place], None]


@dataclass(frozen=True)
class Run:
    """One command line, what happens to the data before it, and files that it writes."""

    name: str
    command: str  # arguments, separated by blanks; those with blanks are in `more`
    more: tuple[str, ...] = ()
    before: Act | None = None
    files: tuple[str, ...] = ()  # written by the run, and part of its record

    def arguments(self, place: Place) -> list[str]:
        return [word.format(**place.names) for word in (*self.command.split(), *self.more)]


@dataclass(frozen=True)
class Shown:
    """What a command line leaves behind."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(arguments: list[str], directory: Path) -> Shown:
    out, err = io.StringIO(), io.StringIO()
    with working_in(directory), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main.run(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Shown(code, out.getvalue(), err.getvalue())


@contextmanager
def working_in(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def readable(text: str) -> Any:
    """JSON as such if its text follows from it to the byte, else the lines."""
    for indent in (2, None):
        try:
            document = json.loads(text)
        except ValueError:
            break
        if json.dumps(document, indent=indent) + "\n" == text:
            return {"json": document, "indent": indent}
    return text.split("\n")
