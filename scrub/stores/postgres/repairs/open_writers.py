# SPDX-License-Identifier: Apache-2.0
"""Waiting for transactions that are writing to a table or to its indexes."""

import time

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.table import Table
from scrub.stores.postgres.blocking import blockers_of, numbers_of
from scrub.stores.postgres.repairs.session import POLL_SECONDS, RepairSession


def wait_for_open_writers(session: RepairSession, table: Table, seconds: float) -> None:
    """Until all who write now have ended; raises StoreUnavailable after so long."""
    connection = session.connection
    oids = _written_by_writers(session, table)
    waiting = {blocker.identity for blocker in blockers_of(connection, oids)}
    deadline = time.monotonic() + seconds
    while waiting:
        left = [b for b in blockers_of(connection, oids) if b.identity in waiting]
        waiting = {blocker.identity for blocker in left}
        if waiting and time.monotonic() > deadline:
            raise StoreUnavailable(
                "rows whose entries were deleted could not be checked again, because of "
                + "; ".join(blocker.description for blocker in left[:5]),
                hint="end them, and run the same again: it looks at those rows first",
            )
        if waiting:
            session.sleep(POLL_SECONDS)


def _written_by_writers(session: RepairSession, table: Table) -> list[int]:
    """The table and its indexes: a writer may begin with either."""
    names = [table.relation, *(i.relation for i in table.indexes if not i.is_own)]
    oids: list[int] = []
    for name in names:
        try:
            oids += numbers_of(session.connection, session.schema, name)
        except RelationMismatch:
            continue  # an index that is not there is written by nobody
    return oids
