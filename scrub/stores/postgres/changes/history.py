# SPDX-License-Identifier: Apache-2.0
"""The rows of a table in the order of its primary key, read at snapshots. A `HistoryReader`.

Values are texts exactly as the replication slot sends them: what the types' output functions give.
A cast to text would not do, since it spells some types in another way.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scrub.errors import StoreUnavailable
from scrub.model.stream.changes import ONE_PARTITION, Values
from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.epochs import Part, Reread, WantedPart
from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_bounds import ordering, where
from scrub.stores.postgres.changes.key_types import key_reader
from scrub.stores.postgres.changes.lsn import lsn_number
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import (
    Connection,
    connect,
    only_row,
    require_psycopg,
    safe_message,
)
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.shared_snapshot import BEGIN_READING

_SEEN = """
    SELECT pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_current_wal_insert_lsn()::text
"""
"""The place is read after the snapshot was taken: what the snapshot shows is before it."""


class PostgresHistory:
    """Reads one table over one connection, with a new transaction for each snapshot."""

    def __init__(self, conninfo: str, table: StreamedTable) -> None:
        self._conninfo = conninfo
        self._table = table
        self._connection: Connection | None = None

    @contextmanager
    def snapshot(self) -> Iterator["TableSnapshot"]:
        """Take a snapshot, and hold the lock that TRUNCATE and rewrites of the table wait for."""
        driver = require_psycopg()
        try:
            connection = self._connected()
            connection.execute(BEGIN_READING)
            # Before the snapshot: an older one would see an emptied table, and not why.
            connection.execute(f"LOCK TABLE {self._table.sql} IN ACCESS SHARE MODE")
            token, end = only_row(connection, _SEEN)
            held = HistorySnapshot(str(token), {ONE_PARTITION: (lsn_number(end), 0)})
            yield TableSnapshot(connection, self._table, held)
            connection.rollback()
        except driver.Error as error:
            self.close()
            reason = safe_message(error, self._conninfo)
            raise StoreUnavailable(f"{self._table.label}: {reason}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._conninfo)
        return self._connection


class TableSnapshot:
    """One snapshot while its transaction is open."""

    def __init__(
        self, connection: Connection, table: StreamedTable, snapshot: HistorySnapshot
    ) -> None:
        self.snapshot = snapshot
        self._connection = connection
        self._table = table
        self._readers = [key_reader(c.type_oid, c.name) for c in table.key_columns]

    def export(self) -> str:
        """What another session gives to SET TRANSACTION SNAPSHOT while this one is open."""
        return str(only_row(self._connection, "SELECT pg_catalog.pg_export_snapshot()")[0])

    def read(self, wanted: Sequence[WantedPart]) -> list[Part]:
        return [self._part(part) for part in wanted]

    def read_again(self, keys: Sequence[Key]) -> Reread:
        rows = self._rows(_query_of_keys(self._table, keys))
        return Reread(keys=tuple(keys), rows=len(rows), data=rows)

    def _part(self, wanted: WantedPart) -> Part:
        rows = self._rows(_query(self._table, wanted))
        return Part(
            vnode=wanted.vnode,
            after=wanted.after,
            last=rows[-1][0] if rows else None,
            is_end=len(rows) < wanted.rows_max,
            rows=len(rows),
            data=rows,
        )

    def _rows(self, query: str) -> list[tuple[Key, Values]]:
        result = self._connection.execute(query).pgresult
        assert result is not None, "a SELECT has a result"
        columns = range(result.nfields)
        values = (
            tuple(_text(result.get_value(row, column)) for column in columns)
            for row in range(result.ntuples)
        )
        return [(self._key(row), row) for row in values]

    def _key(self, values: Values) -> Key:
        """The columns of the key come first."""
        return tuple(reader(value) for reader, value in zip(self._readers, values, strict=False))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _query_of_keys(table: StreamedTable, keys: Sequence[Key]) -> str:
    conditions = " OR ".join(f"({where(table.key_columns, ('=', key))})" for key in keys)
    columns = ", ".join(identifier(column.name) for column in table.columns)
    return f"SELECT {columns} FROM {table.sql} WHERE {conditions}"


def _query(table: StreamedTable, wanted: WantedPart) -> str:
    key = table.key_columns
    low, high = wanted.slice.low, wanted.slice.high
    condition = where(key, (">=", low), (">", wanted.after), ("<", high))
    columns = ", ".join(identifier(column.name) for column in table.columns)
    return (
        f"SELECT {columns} FROM {table.sql} WHERE {condition} ORDER BY {ordering(key)} "
        f"LIMIT {wanted.rows_max}"
    )
