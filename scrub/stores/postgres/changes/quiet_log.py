# SPDX-License-Identifier: Apache-2.0
"""The end of a quiet server's log, which a stream may wait for.

A server sends what it has written out. Records that no commit follows, such as those of a rollback
or of cleaning a page, stay in memory for up to 15 seconds if nobody else commits. A snapshot tells
its place in the log by its very end, so a stream would wait for them as long.
"""

import time

from scrub.errors import StoreUnavailable
from scrub.stores.postgres.connections import (
    Connection,
    connect,
    require_psycopg,
    safe_message,
)

QUIET_SECONDS = 0.2
_LOCALLY = "SET synchronous_commit = local"
"""No standby is waited for: nothing of importance is committed."""
_WRITE_OUT = """
    SELECT CASE WHEN pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn()
           THEN pg_catalog.pg_logical_emit_message(true, 'scrub', '') END
"""


class QuietLog:
    """Asks the server to write out its log when a stream has heard nothing for a while."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: Connection | None = None
        self._since = time.monotonic()

    def heard(self, *, has_moved: bool) -> None:
        """After each read. Does something only if there is something to write out."""
        now = time.monotonic()
        if has_moved:
            self._since = now
        elif now - self._since >= QUIET_SECONDS:
            self._since = now
            self._write_out()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write_out(self) -> None:
        driver = require_psycopg()
        try:
            if self._connection is None:
                self._connection = connect(self._conninfo)
                self._connection.autocommit = True
                self._connection.execute(_LOCALLY)
            self._connection.execute(_WRITE_OUT)
        except driver.Error as error:
            self.close()
            reason = safe_message(error, self._conninfo)
            raise StoreUnavailable(f"PostgreSQL: {reason}") from error
