# SPDX-License-Identifier: Apache-2.0
"""Sessions that read an own index at the shared snapshot, set for one way of reading."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from scrub.errors import StoreUnavailable
from scrub.stores.postgres.connections import Connection, connect, require_psycopg, safe_message
from scrub.stores.postgres.own_indexes.plan_proof import Demand, ReadingRefused, prove
from scrub.stores.postgres.own_indexes.readings import settings_for
from scrub.stores.postgres.resting import Paused, ended_by_a_pause, hold_during_a_pause
from scrub.stores.postgres.shared_snapshot import read_at

ROWS_PER_FETCH = 10_000


@dataclass(frozen=True, slots=True)
class IndexSessions:
    """Each reading has a session of its own, so that one that fails is alone."""

    conninfo: str
    snapshot: str

    def rows(
        self, query: str, demand: Demand, settings: Mapping[str, str]
    ) -> Iterator[Sequence[Any]]:
        """What a query gives, once its plan is proven; through a cursor, a few rows at a time."""
        try:
            with self.session({**settings_for(*demand.ways), **settings}) as connection:
                prove(connection, query, demand)
                with connection.cursor(name="scrub") as cursor:
                    with ended_by_a_pause(connection):
                        cursor.execute(query)
                        some = cursor.fetchmany(ROWS_PER_FETCH)
                    while some:
                        yield from some
                        hold_during_a_pause()
                        some = cursor.fetchmany(ROWS_PER_FETCH)
                return
        except Paused:
            hold_during_a_pause()
        yield from self.rows(query, demand, settings)

    @contextmanager
    def session(self, settings: Mapping[str, str]) -> Iterator[Connection]:
        """A session with these settings; `ReadingRefused` has what the server said."""
        psycopg = require_psycopg()
        try:
            with connect(self.conninfo) as connection:
                # A prepared statement would keep the plan of other settings.
                connection.prepare_threshold = None
                for statement in read_at(self.snapshot):
                    connection.execute(statement)
                for name, value in settings.items():
                    connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
                yield connection
                connection.rollback()
        except (psycopg.Error, StoreUnavailable) as error:
            reason = safe_message(error, self.conninfo)
            raise ReadingRefused(reason) from error
