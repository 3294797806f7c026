# SPDX-License-Identifier: Apache-2.0
"""Relations of scrub's own, such as the journal: nobody else may have put them there.

Whoever may create tables in the schema can make one of that name first: a table with a trigger that
runs with the rights of whoever writes to it, or a view with a function that runs with those of
whoever reads it. And whoever wrote the journal decides what an undo writes.
"""

from scrub.errors import UsageError
from scrub.stores.postgres.connections import Connection, only_row

# A superuser counts as a member of every role, and that is not what makes an owner trusted.
_OF_STRANGERS = """
    SELECT c.relname, pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(n.nspowner)
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
    JOIN pg_catalog.pg_roles me ON me.rolname = current_user
    JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
    WHERE c.oid = pg_catalog.to_regclass(%s) AND NOT o.rolsuper
      AND c.relowner NOT IN (me.oid, n.nspowner, d.datdba)
      AND (me.rolsuper OR NOT pg_catalog.pg_has_role(me.oid, c.relowner, 'MEMBER'))
"""


def are_there(connection: Connection, *relations: str) -> bool:
    """Whether the first of them exists; refuses those of a stranger, as `demand_own` does."""
    demand_own(connection, *relations)
    return only_row(connection, "SELECT to_regclass(%s)", relations[:1])[0] is not None


def demand_own(connection: Connection, *relations: str) -> None:
    """Refuse relations, given as quoted SQL names, whose owner is not trusted."""
    for relation in relations:
        row = connection.execute(_OF_STRANGERS, (relation,)).fetchone()
        if row is not None:
            name, owner, of_schema = row
            raise UsageError(
                f"{name} belongs to the role {owner}, whose triggers and views would run with the "
                "rights of this one, so it is neither written nor read",
                hint=f"look at who made it; if it is scrub's, ALTER TABLE {relation} OWNER TO the "
                f"owner of the schema, {of_schema}",
            )
