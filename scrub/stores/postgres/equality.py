# SPDX-License-Identifier: Apache-2.0
"""The operator by which two values of a column are equal, named with its schema.

A bare `=` is looked up by the search path. Where the path lacks the schema of a type such as
citext, `=` silently becomes that of another type, and where strangers may write to a schema of the
path, it may become theirs. So it is taken from where a unique index takes it: from the default
B-tree operator class of the column's type. The server finds that class without any path.
"""

from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import identifier

# As the server itself looks: the class of the very type, then of one with the same bytes (varchar
# is compared as text), then of its kind (any enum, array, row, range).
_EQUALITIES = """
    WITH RECURSIVE behind(number, type) AS (
        SELECT a.attnum, a.atttypid FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.number, t.typbasetype FROM behind b
        JOIN pg_catalog.pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
    )
    SELECT a.attname, found.schema, found.operator
    FROM behind b
    JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype <> 'd'
    JOIN pg_catalog.pg_attribute a ON a.attrelid = %s AND a.attnum = b.number
    LEFT JOIN LATERAL (
        SELECT n.nspname AS schema, o.oprname AS operator
        FROM pg_catalog.pg_opclass q
        JOIN pg_catalog.pg_am m ON m.oid = q.opcmethod AND m.amname = 'btree'
        JOIN pg_catalog.pg_type i ON i.oid = q.opcintype
        JOIN pg_catalog.pg_amop w ON w.amopfamily = q.opcfamily AND w.amopstrategy = %s
            AND w.amoplefttype = q.opcintype AND w.amoprighttype = q.opcintype
        JOIN pg_catalog.pg_operator o ON o.oid = w.amopopr
        JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
        CROSS JOIN LATERAL (SELECT CASE
            WHEN q.opcintype = t.oid THEN 1
            WHEN EXISTS (SELECT FROM pg_catalog.pg_cast c WHERE c.castsource = t.oid
                AND c.casttarget = q.opcintype AND c.castmethod = 'b' AND c.castcontext = 'i')
                THEN CASE WHEN i.typispreferred THEN 2 ELSE 3 END
            WHEN q.opcintype = CASE
                WHEN t.typtype = 'e' THEN 'pg_catalog.anyenum'::pg_catalog.regtype
                WHEN t.typtype = 'c' THEN 'pg_catalog.record'::pg_catalog.regtype
                WHEN t.typtype = 'r' THEN 'pg_catalog.anyrange'::pg_catalog.regtype
                WHEN t.typtype = 'm' THEN 'pg_catalog.anymultirange'::pg_catalog.regtype
                WHEN t.typcategory = 'A' THEN 'pg_catalog.anyarray'::pg_catalog.regtype
                END THEN 4
            END) AS rank(n)
        WHERE q.opcdefault AND rank.n IS NOT NULL
        ORDER BY rank.n LIMIT 1) AS found ON true
"""


UP_TO, EQUAL, AT_LEAST, ABOVE = 2, 3, 4, 5
"""What the server calls these operators of a B-tree: its strategies."""


def equalities_of(connection: Connection, relation: int) -> dict[str, str | None]:
    """For each column of the relation, `OPERATOR(schema.=)`; None if its type has no order."""
    return operators_of(connection, relation, EQUAL)


def operators_of(connection: Connection, relation: int, strategy: int) -> dict[str, str | None]:
    """The same for another operator of the same class."""
    rows = connection.execute(_EQUALITIES, (relation, relation, strategy)).fetchall()
    return {
        # The name of an operator is never quoted; it consists of signs only.
        name: f"OPERATOR({identifier(schema)}.{operator})" if operator else None
        for name, schema, operator in rows
    }


def equal(left: str, equality: str, right: str) -> str:
    """Whether two values are equal, in a form that indexes and joins can use; NULL is unknown."""
    return f"{left} {equality} {right}"


def same(left: str, equality: str, right: str) -> str:
    """Whether two values are equal or both NULL: IS NOT DISTINCT FROM looks `=` up by the path."""
    return f"({left} {equality} {right} OR ({left} IS NULL AND {right} IS NULL)) IS TRUE"
