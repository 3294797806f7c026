# SPDX-License-Identifier: Apache-2.0
"""Runs commands while every address and name that their Python processes ask for is recorded."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_RECORDER = """
import os, sys

def record(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        wanted = address[0] if isinstance(address, tuple) else "a socket of this machine"
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        wanted = arguments[0]
    else:
        return
    with open(os.environ["RECORDED_CONTACTS"], "a", encoding="utf-8") as file:
        file.write(f"{wanted}\\n")

sys.addaudithook(record)
"""
OF_THIS_MACHINE = frozenset(
    {"127.0.0.1", "::1", "localhost", "0.0.0.0", "None", "", "a socket of this machine"}
)


class Recorder:
    """A place for what was contacted, by processes that run one after the other."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        (directory / "sitecustomize.py").write_text(_RECORDER, encoding="utf-8")
        self._directory = directory
        self._contacts = directory / "contacts"
        self._contacts.touch()

    @property
    def contacts(self) -> set[str]:
        return set(self._contacts.read_text(encoding="utf-8").splitlines())

    def run(self, command: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
        """Run a command; `python` and `scrub` are those of the tests."""
        ours = {"python": [sys.executable], "scrub": [sys.executable, "-m", "scrub"]}
        path = [str(self._directory), str(Path(__file__).parents[3])]
        variables = {
            "PYTHONPATH": os.pathsep.join(path),
            "RECORDED_CONTACTS": str(self._contacts),
        }
        # What a user might have set must not be what keeps the analytics quiet.
        inherited = {name: of for name, of in os.environ.items() if not name.startswith("GX_")}
        return subprocess.run(
            [*ours[command[0]], *command[1:]],
            cwd=directory,
            env=inherited | variables,
            capture_output=True,
            text=True,
            check=False,
        )
