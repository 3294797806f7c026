# SPDX-License-Identifier: Apache-2.0
"""A publication that somebody else has made, perhaps since the role that streams may not."""

from scrub.errors import UsageError
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import Connection, only_row
from scrub.stores.postgres.quoting import identifier

_PUBLISHES = """
    SELECT p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
           EXISTS (SELECT FROM pg_catalog.pg_publication_tables t
                   JOIN pg_catalog.pg_namespace n ON n.nspname = t.schemaname
                   JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
                   WHERE t.pubname = p.pubname AND c.oid = %s
                     -- Older servers have no filters.
                     AND pg_catalog.to_jsonb(t) ->> 'rowfilter' IS NULL)
    FROM pg_catalog.pg_publication p WHERE p.pubname = %s
"""


def demand_publishes_all(connection: Connection, publication: str, table: StreamedTable) -> None:
    """Refuse a publication that would not tell of every change of the table."""
    tells_all, has_table = only_row(connection, _PUBLISHES, (table.oid, publication))
    name = identifier(publication)
    if not has_table:
        raise UsageError(
            f"the publication {publication} does not publish all rows of {table.label}",
            hint=f"ALTER PUBLICATION {name} ADD TABLE {table.sql}, or name another publication "
            "in the catalog",
        )
    if not tells_all:
        raise UsageError(
            f"the publication {publication} does not publish every kind of change",
            hint=f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')",
        )
