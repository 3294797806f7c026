# SPDX-License-Identifier: Apache-2.0
"""Whether others are writing to the server and might have to wait."""

from scrub.stores.postgres.connections import APPLICATION_NAME
from scrub.stores.postgres.quoting import literal

# Whoever writes holds a lock on its own transaction, and every role may see that.
OTHERS_WRITE = f"""
    EXISTS (SELECT FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid()
              AND a.application_name IS DISTINCT FROM {literal(APPLICATION_NAME)})
"""
"""A condition: true at moments when another session than one of ours has written something."""
