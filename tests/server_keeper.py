# SPDX-License-Identifier: Apache-2.0
"""A process that runs one PostgreSQL server and outlives whoever asked for it, but only briefly.

    python server_keeper.py PROGRAMS DIRECTORY USER SETTING...

It obeys the lines `start`, `stop` and `crash` of its standard input, and answers each with one
line. When its parent is gone, by whatever signal, it stops the server and removes the directory.
It imports nothing but the standard library, so that it starts in some milliseconds.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_LOOK_SECONDS = 0.5
_START_SECONDS = 120
_READY = "ready"


class Keeper:
    def __init__(self, programs: Path, directory: Path, user: str, settings: list[str]) -> None:
        self.programs = programs
        self.directory = directory
        self.user = user or None
        self.settings = settings
        self.log = directory / "log"
        self.server: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        if not (self.directory / "PG_VERSION").exists():
            self._run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres")
            with (self.directory / "postgresql.auto.conf").open("a") as file:
                file.writelines(f"{setting}\n" for setting in self.settings)
        # No port: several servers of one machine would have to agree about it.
        command = [self.programs / "postgres", "-D", self.directory, "-h", "", "-k", self.directory]
        with self.log.open("ab") as log:
            self.server = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self.user
            )
        until = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self.server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not start: {self.log.read_text()}")
            time.sleep(0.02)
        return _READY

    def stop(self) -> str:
        """Let it end in order: what it has to write, it writes."""
        return self._end(signal.SIGINT)

    def crash(self) -> str:
        """Let it end at once: it recovers when it starts again."""
        return self._end(signal.SIGQUIT)

    def remove(self) -> None:
        self.crash()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _end(self, number: signal.Signals) -> str:
        if self.server is not None:
            self.server.send_signal(number)
            self.server.wait()
            self.server = None
        return "ended"

    def _is_ready(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return (self.directory / "postmaster.pid").read_text().split()[-1:] == [_READY]
        return False

    def _run(self, program: str, *arguments: str) -> None:
        command = [self.programs / program, *arguments, "-D", self.directory]
        done = subprocess.run(
            command, user=self.user, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program} fails: {done.stderr.decode()}")


def obey(keeper: Keeper, parent: int) -> None:
    """Until the parent is gone; a process that it forked may still hold the pipe open."""
    asked = open(0, "rb", buffering=0)  # noqa: SIM115 - for as long as the process lives
    actions = {b"start\n": keeper.start, b"stop\n": keeper.stop, b"crash\n": keeper.crash}
    while os.getppid() == parent:
        if not select.select([asked], [], [], _LOOK_SECONDS)[0]:
            continue
        line = asked.readline()
        if not line:
            return
        try:
            answer = actions[line]()
        except RuntimeError as error:
            answer = " ".join(str(error).split())
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def main(programs: str, directory: str, user: str, *settings: str) -> None:
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    keeper = Keeper(Path(programs), Path(directory), user, list(settings))
    try:
        with contextlib.suppress(BrokenPipeError):
            obey(keeper, parent)
    finally:
        keeper.remove()


if __name__ == "__main__":
    main(*sys.argv[1:])
