# SPDX-License-Identifier: Apache-2.0
"""Records which addresses the Python processes of a command connect to or look up."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Python runs a module of this name at every start, before anything else is imported.
_AT_START = "sitecustomize.py"
_RECORDER = """
import os
import sys

_record = os.open(os.environ["SOCKET_RECORD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _keep(event, arguments):
    if event == "socket.connect" or event == "socket.sendto":
        address = arguments[1]
        os.write(_record, f"{address[0] if isinstance(address, tuple) else 'unix'}\\n".encode())
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        os.write(_record, f"{arguments[0]}\\n".encode())


sys.addaudithook(_keep)
"""
LOCAL = frozenset({"unix", "127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class SocketRecord:
    """A place for the recorder, and for what it records."""

    directory: Path

    def environment(self) -> Mapping[str, str]:
        """The variables with which a command must be started."""
        self.directory.mkdir(exist_ok=True)
        (self.directory / _AT_START).write_text(_RECORDER, encoding="utf-8")
        return os.environ | {
            "PYTHONPATH": str(self.directory),
            "SOCKET_RECORD": str(self._kept),
        }

    def hosts(self) -> set[str]:
        """Every host that was connected to, and every name that was looked up."""
        return set(self._kept.read_text(encoding="utf-8").splitlines())

    @property
    def _kept(self) -> Path:
        return self.directory / "hosts.txt"
