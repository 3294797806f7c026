# SPDX-License-Identifier: Apache-2.0
"""The slot and the publication of a stream: made, looked at, dropped."""

from dataclasses import dataclass

from scrub.errors import ScrubError
from scrub.model.stream.changes import ONE_PARTITION
from scrub.model.stream.coverage import MustCover
from scrub.model.stream.heard import InOrder
from scrub.model.stream.state import Start
from scrub.stores.postgres.changes.lsn import lsn_number
from scrub.stores.postgres.changes.replication import ReplicationConnection, SlotInUse
from scrub.stores.postgres.connections import Connection, connect, only_row
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.shared_snapshot import read_at

_LOST = "lost"
_SLOT = """
    SELECT s.plugin, s.database = pg_catalog.current_database(), s.active_pid,
           s.confirmed_flush_lsn::text, s.wal_status,
           -- Older servers do not have this one.
           pg_catalog.to_jsonb(s) ->> 'invalidation_reason',
           pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), s.restart_lsn)::bigint
    FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = %s
"""


class SlotLost(ScrubError):
    """The server has given up the slot: changes that the stream has not read are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot as the server shows it."""

    name: str
    plugin: str
    is_of_database: bool
    reader: int | None  # a process of the server
    confirmed: str | None
    wal_status: str | None  # reserved, extended, unreserved or lost
    invalidation: str | None  # why it was given up
    wal_kept: int | None  # bytes of the log that it keeps


def find_slot(connection: Connection, name: str) -> Slot | None:
    row = connection.execute(_SLOT, (name,)).fetchone()
    if row is None:
        return None
    plugin, is_of_database, reader, confirmed, wal_status, invalidation, wal_kept = row
    return Slot(
        name=name,
        plugin=plugin,
        is_of_database=bool(is_of_database),
        reader=reader,
        confirmed=confirmed,
        wal_status=wal_status,
        invalidation=invalidation,
        wal_kept=None if wal_kept is None else int(wal_kept),
    )


def demand_usable(slot: Slot | None, name: str, resume: str) -> None:
    """Refuse a slot that does not have every change behind the place to continue at."""
    again = "drop the stream and build the index again"
    if slot is None:
        raise SlotLost(f"the replication slot {name} is gone", hint=again)
    if slot.plugin != "pgoutput" or not slot.is_of_database:
        raise SlotLost(f"the slot {name} was made by somebody else for something else", hint=again)
    if slot.wal_status == _LOST or slot.invalidation:
        reason = slot.invalidation or "the log it needs was removed"
        raise SlotLost(
            f"the server has invalidated the slot {name} ({reason}): changes are gone",
            hint=f"{again}; a larger max_slot_wal_keep_size gives a stream more time",
        )
    if slot.confirmed is not None and lsn_number(slot.confirmed) > lsn_number(resume):
        raise SlotLost(
            f"the slot {name} has forgotten changes from {resume} to {slot.confirmed}: "
            "it was made anew or read by somebody else",
            hint=again,
        )
    if slot.reader is not None:
        raise SlotInUse(
            f"the slot {name} is read by process {slot.reader} of the server",
            hint="end the other run of this stream first",
        )


def publish(connection: Connection, publication: str, table_sql: str) -> None:
    """Make the publication of one table, if it is not there; its changes are the root table's."""
    if not has_publication(connection, publication):
        connection.execute(
            f"CREATE PUBLICATION {identifier(publication)} FOR TABLE {table_sql} "
            "WITH (publish_via_partition_root = true)"
        )


def has_publication(connection: Connection, publication: str) -> bool:
    query = "SELECT exists(SELECT FROM pg_catalog.pg_publication WHERE pubname = %s)"
    return bool(only_row(connection, query, (publication,))[0])


def create_slot(conninfo: str, name: str) -> Start:
    """Make the slot, and say what history has to show that the slot will not report.

    The snapshot that the server exports with the slot shows exactly that, also transactions that
    ordinary snapshots do not see yet.
    """
    replication = ReplicationConnection(conninfo)
    try:
        _, start, exported, _ = replication.row(
            f"CREATE_REPLICATION_SLOT {identifier(name)} LOGICAL pgoutput EXPORT_SNAPSHOT"
        )
        assert start is not None
        assert exported is not None
        with connect(conninfo) as connection:
            for statement in read_at(exported):
                connection.execute(statement)
            (token,) = only_row(connection, "SELECT pg_catalog.pg_current_snapshot()::text")
    finally:
        replication.close()
    return Start(
        heard=InOrder({ONE_PARTITION: (lsn_number(start), 0)}),
        resume=start,
        before=MustCover(snapshot=str(token)),
    )


def begin_anew(conninfo: str, name: str, publication: str, table_sql: str) -> Start:
    """Make the slot of a stream that has no state yet.

    A slot of that name is left from a start that was not finished; nobody has read it.
    """
    with connect(conninfo) as connection:
        publish(connection, publication, table_sql)
        connection.commit()
        drop_slot(connection, name)
    return create_slot(conninfo, name)


def drop_slot(connection: Connection, name: str) -> bool:
    """Drop the slot if it is there; a process that still reads it makes this fail."""
    if find_slot(connection, name) is None:
        return False
    connection.execute("SELECT pg_catalog.pg_drop_replication_slot(%s)", (name,))
    return True


def drop_publication(connection: Connection, publication: str) -> bool:
    if not has_publication(connection, publication):
        return False
    connection.execute(f"DROP PUBLICATION {identifier(publication)}")
    return True
