# SPDX-License-Identifier: Apache-2.0
"""When what an index holds is what a row gives: equal for the operator class, not byte by byte.

1.0 and 1.000, 0 and -0 are one value in several spellings. Where a type has such values, what is
compared is the hash by which its own equality is defined. Letters are always told apart, whatever
the collation: an index-only scan shows those of the entry.
"""

from scrub.stores.postgres.connections import Connection, require_psycopg
from scrub.stores.postgres.own_indexes.operator_classes import OperatorClass

_BLANK_PADDED = "bpchar"  # its class says that equal values have the same bytes, blanks aside


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
