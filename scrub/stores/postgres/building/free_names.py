# SPDX-License-Identifier: Apache-2.0
"""Names that a build needs: whoever may create things in the schema could have taken one before.

A function that is there would only be replaced, and its owner could replace it again, with what
would then run as whoever writes to the table.
"""

from scrub.errors import UsageError
from scrub.stores.postgres.building.functions import functions_of
from scrub.stores.postgres.building.relations_made import unique_indexes
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier

_HELPERS = ("recorded", "suspects", "trial")
_TAKEN = """
    SELECT t.kind, t.name, pg_catalog.pg_get_userbyid(t.owner) FROM (
        SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                    WHEN 'S' THEN 'SEQUENCE' WHEN 'i' THEN 'INDEX' WHEN 'I' THEN 'INDEX'
                    WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END,
               c.relname, c.relowner
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = pg_catalog.to_regnamespace(%(schema)s)
          AND c.relname = ANY(%(relations)s)
        UNION ALL
        SELECT CASE y.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, y.typname, y.typowner
        FROM pg_catalog.pg_type y
        WHERE y.typnamespace = pg_catalog.to_regnamespace(%(schema)s) AND y.typrelid = 0
          AND y.typelem = 0 AND y.typname = ANY(%(tables)s)
        UNION ALL
        SELECT 'FUNCTION', f.name, p.proowner
        FROM pg_catalog.unnest(%(functions)s::pg_catalog.text[]) AS f(name)
        JOIN pg_catalog.pg_proc p ON p.oid = pg_catalog.to_regprocedure(f.name)
    ) AS t(kind, name, owner) ORDER BY 1, 2 LIMIT 1
"""


def demand_free(connection: Connection, entry: EntrySql) -> None:
    """Refuse if something has a name that the build will give."""
    tables = [entry.relation_name, *map(entry.name_with, _HELPERS)]
    named = {
        "schema": identifier(entry.schema),
        "tables": tables,
        "relations": [*tables, *unique_indexes(entry)],
        "functions": list(functions_of(entry)),
    }
    row = connection.execute(_TAKEN, named).fetchone()
    if row is None:
        return
    kind, name, owner = row
    shown = name if kind == "FUNCTION" else f"{identifier(entry.schema)}.{identifier(name)}"
    raise UsageError(
        f"index {entry.index}: there is a {kind.lower()} {shown} already, of the role {owner}, and "
        "the build needs that name",
        hint=f"look at who made it, and rename it or DROP {kind} {shown}",
    )
