# SPDX-License-Identifier: Apache-2.0
"""The functions of an index: made, closed to others, and given to whoever owns the index.

They act with the rights of their owner. So nobody may attach them to a relation but that owner and
the owner of the table, whose new partitions get the triggers of the table. New functions are open
to everybody, and default privileges may open them to more: both end in the same transaction.
"""

from collections.abc import Iterator

from scrub.model.build import Duties, State, duties_in
from scrub.stores.postgres.building.firing import quoted_body
from scrub.stores.postgres.building.keeper import keeping
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.building.triggers import emptying
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import literal


def compiling(place: BuildPlace, state: State) -> Iterator[str]:
    """The functions of a build's indexes, such as they are in a state of it."""
    if state is State.REVERSING:
        for names in place.made:
            yield from resting(names)
        return
    for entry in place.entries:
        yield from making(entry, duties_in(place.method, state))


def making(entry: EntrySql, duties: Duties, anew: bool = False) -> Iterator[str]:
    """Create or replace both functions; what existed keeps its owner, and loses its other users.

    Anew: nothing may be there. Who owns a function can replace it again, whatever it is by then.
    """
    create = "CREATE" if anew else "CREATE OR REPLACE"
    yield keeping(entry, duties, create)
    yield emptying(entry, duties, create)
    for function in functions_of(entry):
        yield closing(function, entry.table_number)


def resting(index: IndexNames) -> Iterator[str]:
    """Replace both by such that do nothing: their index is about to be removed."""
    for function in functions_of(index):
        yield (
            f"CREATE OR REPLACE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'"
        )


def functions_of(index: IndexNames) -> tuple[str, str]:
    return f"{index.keeper}()", f"{index.emptier}()"


def closing(function: str, table: int) -> str:
    """Take a function from everybody but its owner and the table's."""
    body = f"""
DECLARE
    given record;
    keeper pg_catalog.name;
BEGIN
    SELECT pg_catalog.pg_get_userbyid(c.relowner) INTO keeper FROM pg_catalog.pg_class AS c
    WHERE c.oid OPERATOR(pg_catalog.=) {table}::pg_catalog.oid;
    FOR given IN
        SELECT DISTINCT g.grantee FROM pg_catalog.pg_proc AS p
        CROSS JOIN LATERAL pg_catalog.aclexplode(
            coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) AS g
        WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure({literal(function)})
          AND g.grantee OPERATOR(pg_catalog.<>) p.proowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM %s CASCADE', {literal(function)},
            CASE WHEN given.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(given.grantee)) END);
    END LOOP;
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %I', {literal(function)}, keeper);
END"""
    return f"DO {quoted_body(body)}"
