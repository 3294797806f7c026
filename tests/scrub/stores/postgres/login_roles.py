# SPDX-License-Identifier: Apache-2.0
"""Roles of one test that can log in and have no rights beyond those granted to them."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import conninfo

from tests.postgres_server import Database


@contextmanager
def login_role(database: Database) -> Iterator[tuple[str, Database]]:
    """The name of a new role, and the database as the role sees it."""
    role = "reader_" + str(conninfo.conninfo_to_dict(database.url)["dbname"])[-8:]
    database.run(f"CREATE ROLE {role} LOGIN PASSWORD 'hush-hush'")
    yield role, Database(conninfo.make_conninfo(database.url, user=role, password="hush-hush"))
    database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
