# SPDX-License-Identifier: Apache-2.0
"""A shop on a server that keeps what logical decoding needs."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.postgres_server import new_database, start_server_with
from tests.scrub.app.streaming.shop import Shop


@cache
def logical_server() -> str:
    """One for all tests; it ends with the process."""
    return start_server_with("wal_level", "logical")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """The indexes are beside their table."""
    with new_database(logical_server()) as database:
        made = Shop(database, database, tmp_path)
        yield made
        made.drop_slot()


@pytest.fixture
def two_databases(tmp_path: Path) -> Iterator[Shop]:
    """The indexes are in another database."""
    with new_database(logical_server()) as database, new_database(logical_server()) as sink:
        made = Shop(database, sink, tmp_path)
        yield made
        made.drop_slot()
