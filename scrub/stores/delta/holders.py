# SPDX-License-Identifier: Apache-2.0
"""Who is at work on a table, and whether they still are.

This keeps people from repairing one table twice at a time, and tells them of each other. Nothing
depends on it being right: every commit is conditional, whoever makes it.
"""

import getpass
import os
import socket
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from weakref import WeakValueDictionary

LEASE = timedelta(minutes=10)
"""After so long without a sign, somebody on another machine is taken for gone."""


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A process that repairs; `token` tells several in one process apart."""

    host: str
    process: int
    begun: str  # when the process began, so that another one of the same number is another
    user: str
    token: str

    @classmethod
    def here(cls) -> "Holder":
        process = os.getpid()
        holder = cls(
            host=socket.gethostname(),
            process=process,
            begun=_begun(process) or "",
            user=_user(),
            token=uuid.uuid4().hex,
        )
        _HERE[holder.token] = holder
        return holder

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.host}"

    def is_at_work(self, last_sign: datetime, now: datetime) -> bool:
        if self.host != socket.gethostname():
            return now - last_sign < LEASE
        if self.process == os.getpid():
            return self.token in _HERE
        return _begun(self.process) == self.begun


_HERE: WeakValueDictionary[str, Holder] = WeakValueDictionary()
"""The holders of this process that somebody still has."""


def _begun(process: int) -> str | None:
    """When a process began; None if there is none of that number."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        return fields.split()[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return ""
    return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
