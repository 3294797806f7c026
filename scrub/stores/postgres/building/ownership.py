# SPDX-License-Identifier: Apache-2.0
"""Who owns an index, and with whose rights its functions act.

As with the server's own indexes, that is the owner of the table, also when a superuser builds it.
Whoever wants the functions to have fewer rights names a role that owns nothing but index tables,
and may read the table.
"""

from collections.abc import Iterator, Sequence

from scrub.errors import UsageError
from scrub.stores.postgres.building.functions import functions_of
from scrub.stores.postgres.connections import Connection, only_row
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import identifier, literal
from scrub.stores.postgres.relations import ServerRelation, leaves_of

_OWNER = "SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %s"
# Of what is not there, nothing; so nothing is given.
_OWNED = {
    "TABLE": "(SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class "
    "WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass({name}))",
    "FUNCTION": "(SELECT pg_catalog.pg_get_userbyid(proowner) FROM pg_catalog.pg_proc "
    "WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure({name}))",
}
_ABLE = """
    SELECT o.oid IS NOT NULL,
           o.oid IS NULL OR pg_catalog.has_schema_privilege(o.oid, n.oid, 'USAGE'),
           o.oid IS NULL OR pg_catalog.has_schema_privilege(o.oid, s.oid, 'USAGE'),
           o.oid IS NULL OR pg_catalog.has_table_privilege(o.oid, c.oid, 'SELECT'),
           o.oid IS NULL OR NOT c.relrowsecurity OR o.rolsuper OR o.rolbypassrls
               OR (NOT c.relforcerowsecurity AND pg_catalog.pg_has_role(o.oid, c.relowner, 'USAGE'))
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_namespace s ON s.nspname = %s
    LEFT JOIN pg_catalog.pg_roles o ON o.rolname = %s
    WHERE c.oid = %s
"""


def owner_of(connection: Connection, relation: int) -> str:
    return str(only_row(connection, _OWNER, (relation,))[0])


def demand_able(connection: Connection, owner: str, relation: ServerRelation, schema: str) -> None:
    """Refuse an owner whose functions could not read the table when somebody writes to it."""
    parts = [relation, *leaves_of(connection, relation)]
    for part in {part.oid: part for part in parts}.values():
        able = only_row(connection, _ABLE, (schema, owner, part.oid))
        exists, sees_table, sees_schema, reads, sees_all = able
        role = identifier(owner)
        if not exists:
            raise UsageError(f"there is no role {owner}", hint=f"CREATE ROLE {role} NOLOGIN")
        for is_allowed, grant in (
            (sees_table, f"GRANT USAGE ON SCHEMA {identifier(part.schema)} TO {role}"),
            (sees_schema, f"GRANT USAGE ON SCHEMA {identifier(schema)} TO {role}"),
            (reads, f"GRANT SELECT ON {part.sql} TO {role}"),
        ):
            if not is_allowed:
                raise UsageError(
                    f"the role {owner} is to own the index, and may not read {part.label}, as the "
                    "functions that keep the index must",
                    hint=grant,
                )
        if not sees_all:
            raise UsageError(
                f"the role {owner} is to own the index, and row security hides rows of "
                f"{part.label} from it",
                hint=f"ALTER ROLE {role} BYPASSRLS, or name another with --owner",
            )


def giving(entry: IndexNames, owner: str, helpers: Sequence[str] = ()) -> Iterator[str]:
    """What makes the role the owner of everything that belongs to an index, and is not yet its.

    Whoever creates it owns it already, and need not be allowed to give anything away.
    """
    things = [
        *(f"ALTER TABLE {relation}" for relation in (entry.relation, *helpers)),
        *(f"ALTER FUNCTION {function}" for function in functions_of(entry)),
    ]
    for thing in things:
        kind, _, name = thing.removeprefix("ALTER ").partition(" ")
        found = _OWNED[kind].format(name=literal(name))
        differs = f"{found} OPERATOR(pg_catalog.<>) {literal(owner)}::pg_catalog.name"
        give = literal(f"{thing} OWNER TO {identifier(owner)}")
        yield f"DO {literal(f'BEGIN IF {differs} THEN EXECUTE {give}; END IF; END')}"
