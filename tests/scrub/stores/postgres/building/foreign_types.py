# SPDX-License-Identifier: Apache-2.0
"""Types of extensions, in schemas that no path finds; made of SQL, so any server has them."""

from tests.postgres_server import Database

SCHEMA = "types of others"
CI = f'"{SCHEMA}".ci'
"""Text whose case does not matter, as a row of one text: `(Anna)` equals `(anna)`."""

_OPERATORS = {"<": 1, "<=": 2, "=": 3, ">=": 4, ">": 5}


def case_insensitive_type() -> list[str]:
    """What makes the type, its operators and its operator class; the path finds none of them."""
    place = f'"{SCHEMA}"'
    made = [f"CREATE SCHEMA {place}", f"CREATE TYPE {CI} AS (t text)"]
    for n, sign in enumerate(_OPERATORS):
        name = f"{place}.op{n}"
        made += [
            f"CREATE FUNCTION {name}({CI}, {CI}) RETURNS boolean IMMUTABLE STRICT LANGUAGE sql "
            f"RETURN lower(($1).t) {sign} lower(($2).t)",
            f"CREATE OPERATOR {place}.{sign} (LEFTARG = {CI}, RIGHTARG = {CI}, FUNCTION = {name})",
        ]
    listed = ", ".join(
        f"OPERATOR {number} {place}.{sign} ({CI}, {CI})" for sign, number in _OPERATORS.items()
    )
    return [
        *made,
        f"CREATE FUNCTION {place}.compare({CI}, {CI}) RETURNS integer IMMUTABLE STRICT "
        "LANGUAGE sql RETURN bttextcmp(lower(($1).t), lower(($2).t))",
        f"CREATE OPERATOR CLASS {place}.ci_ops DEFAULT FOR TYPE {CI} USING btree AS {listed}, "
        f"FUNCTION 1 {place}.compare({CI}, {CI})",
    ]


def offers_citext(database: Database) -> bool:
    return bool(database.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'"))


def citext() -> list[str]:
    return [f'CREATE SCHEMA "{SCHEMA}"', f'CREATE EXTENSION citext SCHEMA "{SCHEMA}"']
