# SPDX-License-Identifier: Apache-2.0
"""Reading one split of a PostgreSQL relation inside a Spark task, as Arrow, in the catalog's types.

Runs in Python workers. Where a connection is lost, another one of the same snapshot goes on, as
long as the snapshot lives.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from scrub import pacing
from scrub.codec.arrow_types import to_arrow
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.stores.postgres.connections import (
    require_adbc,
    safe_message,
    said_again,
    server_message,
    what_to_do,
)
from scrub.stores.postgres.endless_times import restored
from scrub.stores.postgres.shared_snapshot import read_at
from scrub.stores.unreadable import UnreadableSplit

ATTEMPTS = 3
PAUSE_SECONDS = 0.5
CONNINFO, SNAPSHOT, VALUE = "conninfo", "snapshot", "value:"
"""Names among a relation's storage options; VALUE and a column's name give its expression."""

_BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"
_ROW_BYTES_GUESSED = 64
_ROWS_IN_A_BATCH = (16 << 20) // _ROW_BYTES_GUESSED  # about as many as a batch has unasked


class PostgresSplitReader:
    """Reads one split once; `bytes_read` counts what arrived."""

    def __init__(
        self, split: Split, columns: Sequence[Column], storage_options: Mapping[str, str]
    ) -> None:
        self.split, self.columns, self.options = split, tuple(columns), storage_options
        self.bytes_read = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The split's rows: exactly the wanted columns, in order."""
        arrived = self._arrived(self._query())
        for batch in pacing.paced(arrived, lambda b: (b.num_rows, b.nbytes)):
            self.bytes_read += batch.nbytes
            yield self._converted(batch)

    def _query(self) -> str:
        values = [
            f"{self.options[VALUE + column.name]} AS c{n}" for n, column in enumerate(self.columns)
        ]
        return f"SELECT {', '.join(values) or '1'} FROM {self.split.uri}{self._range()}"

    def _range(self) -> str:
        if self.split.pages is None:
            return ""
        first, last = self.split.pages
        where = f" WHERE ctid OPERATOR(pg_catalog.>=) '({first},0)'::pg_catalog.tid"
        if last is None:
            return where
        return f"{where} AND ctid OPERATOR(pg_catalog.<) '({last},0)'::pg_catalog.tid"

    def _arrived(self, query: str) -> Iterator[pa.RecordBatch]:
        """What the query gives, over as many connections as it takes."""
        dbapi, passed = require_adbc(), 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for batch in _without_first(self._ask(dbapi, query), passed):
                    passed += batch.num_rows
                    yield batch
                return
            except (dbapi.Error, OSError) as error:  # the latter in the middle of rows
                # Pages are read in their order, so what has passed is known by its number only.
                may_go_on = passed == 0 or self.split.pages is not None
                if attempt == ATTEMPTS or not may_go_on or not _is_lost(error):
                    raise self._unreadable(error) from error
                time.sleep(PAUSE_SECONDS * attempt)

    def _ask(self, dbapi: Any, query: str) -> Iterator[pa.RecordBatch]:
        with (
            closing(dbapi.connect(self.options[CONNINFO])) as connection,
            closing(connection.cursor()) as cursor,
        ):
            for statement in read_at(self.options[SNAPSHOT]):
                cursor.execute(statement)
            for statement in said_again(self.options[CONNINFO]):
                cursor.execute(statement)
            if (rows := pacing.batch_rows(_ROWS_IN_A_BATCH)) < _ROWS_IN_A_BATCH:
                size = {_BATCH_BYTES: str(rows * _ROW_BYTES_GUESSED)}
                cursor.adbc_statement.set_options(**size)
            cursor.execute(query)
            yield from cursor.fetch_record_batch()

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            arrays = [
                array if array.type == to_arrow(column.type) else array.cast(to_arrow(column.type))
                for array, column in zip(map(restored, batch.columns), self.columns, strict=True)
            ]
        except pa.ArrowException as error:
            raise UnreadableSplit(
                self.split.name, f"a value does not fit its type: {server_message(error)}"
            ) from error
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in self.columns])

    def _unreadable(self, error: Exception) -> UnreadableSplit:
        reason = safe_message(error, self.options[CONNINFO])
        if hint := what_to_do(reason):
            reason = f"{reason}; {hint}"
        if "snapshot" in reason:
            reason = f"the shared snapshot is gone with the connection that held it ({reason})"
        if "lock timeout" in reason:
            reason = (
                "another session waits to truncate, alter or drop it, which lets no new reader in"
            )
        return UnreadableSplit(self.split.name, reason)


def _is_lost(error: Any) -> bool:
    """Whether the connection failed rather than the query; classes 08 and 57P."""
    state = getattr(error, "sqlstate", None) or ""
    return state == "" or state.startswith(("08", "57P"))


def _without_first(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches without so many rows at their start."""
    for batch in batches:
        kept = batch.slice(min(rows, batch.num_rows))
        rows -= batch.num_rows - kept.num_rows
        if kept.num_rows:
            yield kept
