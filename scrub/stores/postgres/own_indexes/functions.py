# SPDX-License-Identifier: Apache-2.0
"""Looks for functions in an index's expressions that are declared immutable but are not.

PostgreSQL trusts the declaration. A function whose body reads the time, the session or another
table is not immutable, and evaluating it again would not show that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scrub.stores.postgres.connections import Connection

_FIRST_OF_USERS = 16384  # numbers below are those of the server's own objects
_TREES = """
    SELECT indexprs::text, indpred::text FROM pg_catalog.pg_index WHERE indexrelid = %s
"""
_FUNCTIONS = """
    SELECT p.oid, n.nspname || '.' || p.proname, p.provolatile::text,
           CASE WHEN l.lanname NOT IN ('internal', 'c')
                THEN coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc) END
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
"""
_OF_TREE = """
    WHERE p.oid = ANY(%s)
       OR p.oid IN (SELECT o.oprcode FROM pg_catalog.pg_operator o WHERE o.oid = ANY(%s))
"""
_BY_NAME = f" WHERE p.oid >= {_FIRST_OF_USERS} AND p.proname = ANY(%s)"
# What is random or counts up is volatile in all its forms.
_VOLATILE = """
    SELECT proname FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND proname = ANY(%s)
    GROUP BY proname HAVING pg_catalog.bool_and(provolatile = 'v')
"""
_TABLES = """
    SELECT c.relname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = ANY(%s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_KEYWORDS = (
    *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
    *("current_user", "session_user", "current_role", "current_schema", "current_catalog"),
)
_ASKING = frozenset(
    (
        *("now", "transaction_timestamp", "statement_timestamp"),
        *("current_setting", "current_schemas", "current_database"),
        *("inet_client_addr", "inet_client_port", "pg_backend_pid"),
    )
)
_NO_CODE = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_MOMENT = re.compile(r"'(now|today|tomorrow|yesterday)'", re.IGNORECASE)
_NAME = r'(?:"[^"]+"|\w+)'
_CALL = re.compile(rf"({_NAME})\s*\(")
_TABLE = re.compile(rf"\b(?:from|join)\s+(?:only\s+)?(?:{_NAME}\s*\.\s*)?({_NAME})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suspect:
    """An expression or condition of an index whose value may change."""

    tree: str  # as the server stores it
    reason: str | None  # why it does so for certain; a trial may tell of others


def suspect_expressions(
    connection: Connection, index: int
) -> tuple[list[Suspect | None], Suspect | None]:
    """The suspect for each expression and for the condition; None where there is no doubt."""
    row = connection.execute(_TREES, (index,)).fetchone()
    expressions, condition = row if row is not None else (None, None)
    looked_at = [_suspect(connection, tree) for tree in _split(expressions or "")]
    return looked_at, _suspect(connection, condition) if condition else None


def _suspect(connection: Connection, tree: str) -> Suspect | None:
    functions = [int(number) for number in re.findall(r":funcid (\d+)", tree)]
    operators = [int(number) for number in re.findall(r":opno (\d+)", tree)]
    found = connection.execute(_FUNCTIONS + _OF_TREE, (functions, operators)).fetchall()
    is_fixed = all(oid < _FIRST_OF_USERS and volatile == "i" for oid, _, volatile, _ in found)
    if is_fixed and "{COERCEVIAIO" not in tree:  # which writes a value as text, by the settings
        return None
    bodies = {name: body for oid, name, _, body in found if oid >= _FIRST_OF_USERS and body}
    return Suspect(tree, _given_away(connection, bodies))


def _given_away(connection: Connection, bodies: Mapping[str, str]) -> str | None:
    """What a function, or one that it calls, depends on besides its arguments."""
    seen: dict[str, str] = {}
    left = dict(bodies)
    while left:
        name, body = left.popitem()
        seen[name] = body
        code = _NO_CODE.sub(lambda found: "''" if found[0].startswith("'") else " ", body)
        called = {_plain(call) for call in _CALL.findall(code)}
        if asked := _asked(connection, body, code, called):
            return f"{name} {asked}"
        more = connection.execute(_FUNCTIONS + _BY_NAME, (list(called),)).fetchall()
        left |= {other: text for _, other, _, text in more if text and other not in seen}
    return None


def _asked(connection: Connection, body: str, code: str, called: Iterable[str]) -> str | None:
    """What a body asks for, in words."""
    for keyword in _KEYWORDS:
        if re.search(rf"\b{keyword}\b", code, re.IGNORECASE):
            return f"asks for {keyword}"
    if moment := _MOMENT.search(body):
        return f"asks for {moment[0]}"
    volatile = _names(connection, _VOLATILE, called)
    if asking := sorted((set(called) & _ASKING) | set(volatile)):
        return f"calls {asking[0]}()"
    if tables := sorted(_names(connection, _TABLES, map(_plain, _TABLE.findall(code)))):
        return f"reads {tables[0]}"
    return None


def _names(connection: Connection, query: str, names: Iterable[str]) -> list[str]:
    return [name for (name,) in connection.execute(query, (list(names),)).fetchall()]


def _plain(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()


def _split(trees: str) -> Sequence[str]:
    """The expressions in a list of them: what is between outermost braces."""
    found, depth, start, escaped = [], 0, 0, False
    for place, letter in enumerate(trees):
        if escaped or letter == "\\":
            escaped = not escaped
            continue
        if letter == "{":
            start = place if depth == 0 else start
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                found.append(trees[start : place + 1])
    return found
