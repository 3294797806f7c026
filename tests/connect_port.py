# SPDX-License-Identifier: Apache-2.0
"""Spark Connect on this machine has one port: tests of several processes take turns."""

import fcntl
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TURN = Path(tempfile.gettempdir(), "scrub-tests-spark-connect")
_PORT = 15_002
_PATIENCE_SECONDS = 60


@contextmanager
def alone_on_the_port() -> Iterator[None]:
    """No other test starts a server meanwhile, and that of the one before has ended."""
    with _TURN.open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        until = time.monotonic() + _PATIENCE_SECONDS
        while _somebody_listens():
            assert time.monotonic() < until, f"somebody else listens on port {_PORT}"
            time.sleep(0.1)
        yield


def _somebody_listens() -> bool:
    with socket.socket() as looking:
        return looking.connect_ex(("localhost", _PORT)) == 0
