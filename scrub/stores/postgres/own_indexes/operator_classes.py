# SPDX-License-Identifier: Apache-2.0
"""Operator classes of B-trees: what tells the order of a key, and when two keys are equal.

The comparison function of the class is what the server itself builds and searches the tree by.
Operators of the class are what a query must use for the planner to see the index; a class may
borrow them from another one, whatever its own function says.

What an index holds is what a row gives if they are equal for the class, not byte by byte. 1.0 and
1.000, 0 and -0 are one value in several spellings. Where a type has such values, what is compared
is the hash by which its own equality is defined. Letters are always told apart, whatever the
collation: an index-only scan shows those of the entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrub.stores.postgres.connections import Connection, require_psycopg
from scrub.stores.postgres.quoting import identifier, qualified

# Support function 1 compares; 4 says that equal values have the same bytes. Where several families
# have an operator, ORDER BY means the first of them.
_CLASSES = """
    SELECT q.oid,
           (SELECT array_agg(ARRAY[w.amopstrategy::text, n.nspname::text, o.oprname::text])
            FROM pg_catalog.pg_amop w JOIN pg_catalog.pg_operator o ON o.oid = w.amopopr
            JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
            WHERE w.amopfamily = q.opcfamily AND w.amoppurpose = 's'
              AND w.amoplefttype = q.opcintype AND w.amoprighttype = q.opcintype),
           (SELECT ARRAY[n.nspname::text, p.proname::text]
            FROM pg_catalog.pg_amproc f JOIN pg_catalog.pg_proc p ON p.oid = f.amproc
            JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
            WHERE f.amprocfamily = q.opcfamily AND f.amprocnum = 1
              AND f.amproclefttype = q.opcintype AND f.amprocrighttype = q.opcintype),
           EXISTS (SELECT FROM pg_catalog.pg_amproc f
            WHERE f.amprocfamily = q.opcfamily AND f.amprocnum = 4
              AND f.amproclefttype = q.opcintype AND f.amprocrighttype = q.opcintype),
           NOT EXISTS (
            SELECT FROM pg_catalog.pg_amop w JOIN pg_catalog.pg_amop other
              ON other.amopopr = w.amopopr AND other.amopmethod = w.amopmethod
             AND other.amoppurpose = 's' AND other.amopstrategy = w.amopstrategy
            WHERE w.amopfamily = q.opcfamily AND w.amoppurpose = 's' AND w.amopstrategy IN (1, 5)
              AND w.amoplefttype = q.opcintype AND w.amoprighttype = q.opcintype
              AND other.amopfamily < w.amopfamily),
           EXISTS (
            SELECT FROM pg_catalog.pg_opclass usual
            JOIN pg_catalog.pg_amop theirs ON theirs.amopfamily = usual.opcfamily
            JOIN pg_catalog.pg_amop w ON w.amopopr = theirs.amopopr
            WHERE usual.opcmethod = q.opcmethod AND usual.opcdefault
              AND usual.opcintype = q.opcintype
              AND theirs.amopstrategy = 3 AND w.amopstrategy = 3 AND w.amopfamily = q.opcfamily
              AND w.amoplefttype = q.opcintype AND w.amoprighttype = q.opcintype)
    FROM pg_catalog.pg_opclass q WHERE q.oid = ANY(%s)
"""
LESS, AT_MOST, EQUAL, AT_LEAST, GREATER = "1", "2", "3", "4", "5"
"""The strategies of a B-tree, as the server numbers them."""
_BLANK_PADDED = "bpchar"  # its class says that equal values have the same bytes, blanks aside


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorClass:
    """How a B-tree orders one of its keys; operators and the function with their schemas."""

    compare: str
    operators: Mapping[str, str]  # by strategy; a class need not have all of them
    leads: bool  # whether ORDER BY with its operators means this class, and not another one
    equals_by_image: bool  # whether equal values have the same bytes
    equals_as_usual: bool  # whether values are equal for it if they are for their type

    @property
    def is_orderable(self) -> bool:
        """Whether a query can ask for its order."""
        return self.leads and {LESS, GREATER} <= set(self.operators)


def operator_classes(
    connection: Connection, classes: Sequence[int | None]
) -> dict[int, OperatorClass]:
    """The classes of these numbers; a class without a comparison function is left out."""
    wanted = [number for number in classes if number is not None]
    return {
        oid: OperatorClass(
            compare=qualified(*function),
            # The name of an operator is never quoted; it consists of signs only.
            operators={
                strategy: f"OPERATOR({identifier(schema)}.{name})"
                for strategy, schema, name in operators or ()
            },
            leads=leads,
            equals_by_image=by_image,
            equals_as_usual=as_usual,
        )
        for oid, operators, function, by_image, leads, as_usual in connection.execute(
            _CLASSES, (wanted,)
        ).fetchall()
        if function is not None
    }


def may_differ_in_spelling(order: OperatorClass | None, base: str) -> bool:
    """Whether a column may hold equal values with different bytes.

    A column that is only stored has no class, so its type decides. A class with another idea of
    equality than its type's has no hash to go with it: there, bytes decide.
    """
    if order is None:
        return True
    return order.equals_as_usual and (not order.equals_by_image or base == _BLANK_PADDED)


def has_hash(connection: Connection, table: str, expression: str) -> bool:
    """Whether the type of an expression, and of all in it, has a hash of 64 bits."""
    psycopg = require_psycopg()
    nothing = f"CASE WHEN false THEN {expression} END"  # a NULL of its type, which may be a domain
    query = (
        f"SELECT {by_value(nothing, False, 0)} "
        f"FROM (VALUES (1)) AS one LEFT JOIN ONLY {table} ON false"
    )
    try:
        with connection.transaction():
            connection.execute(query)
    except psycopg.Error:
        return False
    return True


def by_value(value: str, has_letters: bool, seed: int) -> str:
    """The hash of a value, the same for all its spellings."""
    told_apart = f'({value} COLLATE pg_catalog."C")' if has_letters else value
    return f"pg_catalog.hash_record_extended(ROW({told_apart}), ({seed}))"
