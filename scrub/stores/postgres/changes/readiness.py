# SPDX-License-Identifier: Apache-2.0
"""What has to be there before a table can be streamed. Everything that is missing is named."""

from dataclasses import dataclass

from scrub.errors import UsageError
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import Connection, only_row

_SERVER = """
    SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('wal_level'),
           r.rolsuper OR r.rolreplication, r.rolname,
           (SELECT count(*) FROM pg_catalog.pg_replication_slots WHERE slot_name <> %s)
             < pg_catalog.current_setting('max_replication_slots')::int
    FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""
_TABLE = """
    SELECT c.relkind IN ('r', 'p'), c.relpersistence = 'p', c.relreplident::text,
           coalesce((SELECT array_agg(a.attname::text)
              FROM pg_catalog.pg_index i
              JOIN pg_catalog.pg_attribute a
                ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
              WHERE i.indrelid = c.oid AND i.indislive
                AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END),
             '{}'),
           coalesce((SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attnotnull
                AND a.attname = ANY (%(key)s)), '{}'),
           c.relispartition
    FROM pg_catalog.pg_class c WHERE c.oid = %(oid)s
"""
_DEFAULT, _NOTHING, _FULL = "d", "n", "f"


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which a table cannot be streamed, and what to do."""

    message: str
    hint: str


class NotStreamable(UsageError):
    """The server, the role or the table lacks something that a stream needs."""


def demand_ready(connection: Connection, table: StreamedTable, slot: str) -> None:
    """Refuse what cannot be streamed; every reason is named."""
    missing = whats_missing(connection, table, slot)
    if missing:
        raise NotStreamable(
            "\n".join(one.message for one in missing),
            hint="\n".join(dict.fromkeys(one.hint for one in missing)),
        )


def whats_missing(connection: Connection, table: StreamedTable, slot: str) -> list[Missing]:
    """Of the server, the role and the table."""
    return [*_of_server(connection, slot), *_of_table(connection, table)]


def _of_server(connection: Connection, slot: str) -> list[Missing]:
    is_standby, wal_level, may_replicate, role, has_room = only_row(connection, _SERVER, (slot,))
    missing = []
    if is_standby:
        missing.append(Missing("the server is a standby", "connect to the primary"))
    if wal_level != "logical":
        missing.append(
            Missing(
                f"the server's wal_level is {wal_level}, and changes need logical",
                "ALTER SYSTEM SET wal_level = logical, then restart the server",
            )
        )
    if not may_replicate:
        missing.append(
            Missing(f"the role {role} may not replicate", f'ALTER ROLE "{role}" REPLICATION')
        )
    if not has_room:
        missing.append(
            Missing(
                "the server has no free replication slot",
                "raise max_replication_slots, or drop a slot that nobody reads",
            )
        )
    return missing


def _of_table(connection: Connection, table: StreamedTable) -> list[Missing]:
    row = connection.execute(_TABLE, {"oid": table.oid, "key": list(table.primary_key)}).fetchone()
    if row is None:
        return [Missing(f"{table.label} does not exist", "correct the catalog")]
    is_table, is_logged, identity, in_identity, nullable, is_partition = row
    missing = []
    if not is_table or is_partition:
        missing.append(
            Missing(
                f"{table.label} is no table of its own",
                "stream a table, or the partitioned table as a whole",
            )
        )
    if not is_logged:
        missing.append(
            Missing(
                f"{table.label} is unlogged or temporary: its changes are not in the log",
                f"ALTER TABLE {table.label} SET LOGGED",
            )
        )
    if nullable:
        missing.append(
            Missing(
                f"{table.label}: {', '.join(sorted(nullable))} of the primary key may be NULL",
                "declare a primary key",
            )
        )
    if identity == _NOTHING:
        missing.append(
            Missing(
                f"{table.label} has REPLICA IDENTITY NOTHING: deletions do not say which row",
                f"ALTER TABLE {table.label} REPLICA IDENTITY DEFAULT",
            )
        )
    elif identity != _FULL and not {*table.primary_key} <= {*in_identity}:
        missing.append(
            Missing(
                f"{table.label}: deletions do not carry the primary key "
                f"({', '.join(table.primary_key)})",
                "declare a primary key of these columns with REPLICA IDENTITY DEFAULT, "
                f"or ALTER TABLE {table.label} REPLICA IDENTITY FULL",
            )
        )
    return missing
