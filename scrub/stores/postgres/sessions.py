# SPDX-License-Identifier: Apache-2.0
"""Queries at the shared snapshot, repeated in another connection if one is lost."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from scrub import pacing
from scrub.codec.arrow_types import to_arrow
from scrub.errors import StoreUnavailable
from scrub.model.types import ColumnType
from scrub.stores.postgres.blocking import OTHERS_WRITE
from scrub.stores.postgres.connections import (
    connect,
    only_row,
    require_adbc,
    require_psycopg,
    safe_message,
    said_again,
    server_message,
    what_to_do,
)
from scrub.stores.postgres.endless_times import restored
from scrub.stores.postgres.reader import ATTEMPTS, PAUSE_SECONDS
from scrub.stores.postgres.resting import (
    Paused,
    ended_by_a_pause,
    hold_during_a_pause,
    must_rest,
)
from scrub.stores.postgres.shared_snapshot import SharedSnapshot, read_at

_LOOKS = 3
_LOOK_SECONDS = 0.01


def ask(
    conninfo: str,
    snapshot: SharedSnapshot,
    query: str,
    gentler: str | None = None,
    settings: Sequence[str] = (),
) -> Sequence[Any]:
    """The query's only row; while others write, one process works for the gentler form of it.

    So it does if the pace is limited; during a pause the query is given up, and asked again.

    Each attempt has a session of its own, and the last one is that of the snapshot itself: it has
    its locks already, so that nobody who waits for an exclusive lock stands before it. `settings`
    are statements that hold for the query's transaction.
    """
    psycopg = require_psycopg()
    attempt = 1
    while True:
        hold_during_a_pause()
        try:
            if attempt == ATTEMPTS:
                # Rolled back, so that the settings do not stay.
                with snapshot.connection.transaction(force_rollback=True):
                    for statement in settings:
                        snapshot.connection.execute(statement)
                    last = gentler if gentler and must_rest() else query
                    return only_row(snapshot.connection, last)
            with connect(conninfo) as connection:
                for statement in (*read_at(snapshot.identifier), *settings):
                    connection.execute(statement)
                is_gentle = gentler is not None and (must_rest() or _others_write(connection))
                if is_gentle:
                    connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
                with ended_by_a_pause(connection):
                    row = only_row(connection, gentler if gentler and is_gentle else query)
                connection.rollback()
                return row
        except Paused:
            continue
        except (psycopg.OperationalError, StoreUnavailable) as error:
            if attempt == ATTEMPTS or isinstance(error, psycopg.errors.QueryCanceled):
                raise _unavailable(error, conninfo) from error
            time.sleep(PAUSE_SECONDS * attempt)
            attempt += 1
        except psycopg.Error as error:
            raise _unavailable(error, conninfo) from error


def fetch(
    conninfo: str, snapshot: SharedSnapshot, query: str, columns: Sequence[tuple[str, ColumnType]]
) -> pa.Table:
    """Rows as Arrow: `expected` first, then these columns."""
    schema = pa.schema(
        [("expected", pa.bool_()), *((name, to_arrow(of_type)) for name, of_type in columns)]
    )
    return pa.Table.from_batches(stream(conninfo, snapshot, query, schema), schema)


def stream(
    conninfo: str,
    snapshot: SharedSnapshot,
    query: str,
    schema: pa.Schema,
    settings: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The query's rows, with the columns of the schema in its order, a batch at a time.

    `settings` are statements that hold for the query's transaction.
    """
    dbapi = require_adbc()
    hold_during_a_pause()
    try:
        with dbapi.connect(conninfo) as connection, connection.cursor() as cursor:
            for statement in (*read_at(snapshot.identifier), *said_again(conninfo), *settings):
                cursor.execute(statement)
            cursor.execute(query)
            for batch in pacing.paced(cursor.fetch_record_batch(), lambda _: (0, 0)):
                if batch.num_rows:
                    yield _converted(batch, schema)
    except (dbapi.Error, OSError, pa.ArrowInvalid) as error:  # the latter two amid the rows
        raise _unavailable(error, conninfo) from error


def _converted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    try:
        arrays = list(map(restored, batch.columns))
        return pa.RecordBatch.from_arrays(arrays, schema.names).cast(schema)
    except pa.ArrowInvalid as error:
        raise StoreUnavailable(f"a value does not fit its type: {server_message(error)}") from error


def _others_write(connection: Any) -> bool:
    """Whether others are writing; asked several times, since one look may miss a short write."""
    for look in range(_LOOKS):
        if look:
            time.sleep(_LOOK_SECONDS)
        if only_row(connection, f"SELECT {OTHERS_WRITE}")[0]:
            return True
    return False


def _unavailable(error: Exception, conninfo: str) -> StoreUnavailable:
    reason = safe_message(error, conninfo)
    hint = what_to_do(reason)  # with it, since whoever catches this keeps one text
    return StoreUnavailable(f"PostgreSQL: {reason}" + (f"; {hint}" if hint else ""))
