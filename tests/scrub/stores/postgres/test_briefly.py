# SPDX-License-Identifier: Apache-2.0
"""Transactions that run out of time, at whatever moment that is."""

import random

from psycopg.pq import TransactionStatus

from scrub.stores.building import GaveWay
from scrub.stores.postgres.briefly import briefly
from tests.postgres_server import Database


def test_session_is_free_again_even_if_the_time_is_up_between_statement_and_commit(
    database: Database,
) -> None:
    """The server then fails the commit, and leaves the transaction open; seen in a long build."""
    chosen = random.Random(7)
    gave_way = 0
    with database.connect() as connection:
        for _ in range(600):
            rows = chosen.randint(1_000, 120_000)  # about as much as the time allows
            try:
                with briefly(connection, 0.003) as brief:
                    brief.execute(f"SELECT count(*) FROM generate_series(1, {rows})")
            except GaveWay:
                gave_way += 1
            assert connection.info.transaction_status is TransactionStatus.IDLE
    assert 0 < gave_way < 600
