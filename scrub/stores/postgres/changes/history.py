# SPDX-License-Identifier: Apache-2.0
"""The rows of a table in the order of its primary key, read at snapshots. A `HistoryReader`.

Values are texts exactly as the replication slot sends them: what the types' output functions give.
A cast to text would not do, since it spells some types in another way.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrub.errors import StoreUnavailable
from scrub.model.stream.changes import ONE_PARTITION, Values
from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.epochs import Part, WantedPart
from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_types import IN_BYTES, key_reader, type_sql
from scrub.stores.postgres.changes.lsn import lsn_number
from scrub.stores.postgres.changes.streamed_table import StreamedTable, WantedColumn
from scrub.stores.postgres.connections import (
    Connection,
    connect,
    only_row,
    require_psycopg,
    safe_message,
)
from scrub.stores.postgres.quoting import identifier, literal
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

    def read(self, wanted: Sequence[WantedPart]) -> list[Part]:
        return [self._part(part) for part in wanted]

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


def _query(table: StreamedTable, wanted: WantedPart) -> str:
    bounds = [
        _bound(table.key_columns, compare, key)
        for compare, key in (
            (">=", wanted.slice.low),
            (">", wanted.after),
            ("<", wanted.slice.high),
        )
        if key is not None
    ]
    columns = ", ".join(identifier(column.name) for column in table.columns)
    where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
    order = ", ".join(map(_in_order, table.key_columns))
    return f"SELECT {columns} FROM {table.sql}{where} ORDER BY {order} LIMIT {wanted.rows_max}"


def _bound(columns: Sequence[WantedColumn], compare: str, key: Key) -> str:
    names = ", ".join(map(_in_order, columns))
    values = ", ".join(_literal(value, column) for column, value in zip(columns, key, strict=True))
    return f"ROW({names}) {compare} ROW({values})"


def _in_order(column: WantedColumn) -> str:
    name = identifier(column.name)
    return f'{name} COLLATE pg_catalog."C"' if column.type_oid in IN_BYTES else name


def _literal(value: Any, column: WantedColumn) -> str:
    return f"{literal(value)}::{type_sql(column.type_oid)}"
