# SPDX-License-Identifier: Apache-2.0
"""A server that keeps what logical decoding needs, and a table in a database of its own."""

from collections.abc import Iterator

import pytest

from tests.postgres_server import Database, new_database, start_server_with
from tests.scrub.stores.postgres.changes.ground import Ground


@pytest.fixture
def logical_database() -> Iterator[Database]:
    with new_database(start_server_with("wal_level", "logical")) as made:
        yield made


@pytest.fixture
def ground(logical_database: Database) -> Iterator[Ground]:
    made = Ground(logical_database)
    yield made
    made.close()
