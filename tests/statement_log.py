# SPDX-License-Identifier: Apache-2.0
"""Every statement that a server was sent, and look-alikes for each name in it without a schema.

A look-alike writes a line into the server's log when it is called, which works in a read-only
transaction too.
"""

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from tests.postgres_server import Database, OwnServer

CALLED = "a look-alike was called: "
_SECONDS_MAX = 30.0
_STATEMENT = re.compile(r"(?:statement|execute [^:]*): (.*)", re.DOTALL)
_NOT_NAMES = re.compile(
    r"""[eE]?'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|\$\$.*?\$\$|--[^\n]*|/\*.*?\*/""", re.DOTALL
)
_FUNCTION = re.compile(r"(?<![\w.])([a-z_][a-z0-9_]*)\s*\(")
_RELATION = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_][a-z0-9_]*)\b(?!\s*[.(])")
_TYPE = re.compile(r"::\s*([a-z_][a-z0-9_]*)\b(?!\s*\.)")
_OPERATOR = re.compile(r"(?<!:)(?:[+\-*/<>=~!@#%^&|`?]+)(?!:)")
# What PostgreSQL's own functions take, and what fits a call even better.
_TYPES = (
    *("int2", "int4", "int8", "float8", "numeric", "text", "varchar", "name", "bool", "oid"),
    *("regclass", '"char"', "tid", "timestamptz", "text[]", "int8[]", "anyelement"),
)
_CROSSED = (("int8", "int4"), ("float8", "int4"), ("text", "varchar"), ("varchar", "text"))
_CROSSED += (("name", "text"), ("text", "name"), ("oid", "int4"), ("oid", "int8"))
_CROSSED += (("int4", "int8"), ("int8", "float8"), ("float8", "float8"), ("text", "anyelement"))


@dataclass(frozen=True)
class LoggingServer:
    """A server whose log holds every statement as JSON."""

    url: str
    logs: Path

    def lines(self, database: str) -> Iterator[dict[str, Any]]:
        """What was logged until now."""
        self._wait_for_the_collector()
        return (record for record in self._written() if record.get("dbname") == database)

    def _wait_for_the_collector(self) -> None:
        """It writes a moment later than sessions go on: so until it has written what comes last."""
        mark, deadline = uuid.uuid4().hex, time.monotonic() + _SECONDS_MAX
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"SELECT '{mark}'")
        while not any(mark in path.read_text() for path in self.logs.glob("*.json")):
            assert time.monotonic() < deadline, "the server does not log"
            time.sleep(0.05)

    def _written(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.logs.glob("*.json")):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):  # the last one may be half written
                    yield json.loads(line)

    def statements(self, database: str) -> list[str]:
        """What sessions of scrub sent, in order, as they sent it."""
        found = []
        for record in self.lines(database):
            sent = _STATEMENT.fullmatch(record.get("message", ""))
            if sent and record.get("application_name") == "scrub":
                found.append(sent[1])
        return found

    def called(self, database: str, application: str) -> set[str]:
        """The look-alikes that sessions of that name called, and where."""
        return {
            f"{record['message'].removeprefix(CALLED)} in {record.get('statement', '?')[:200]}"
            for record in self.lines(database)
            if record.get("message", "").startswith(CALLED)
            and record.get("application_name", "") == application
        }


@cache
def logging_server() -> LoggingServer:
    """A server of our own: where it logs to, only a start can change."""
    server = OwnServer(
        logging_collector="on",
        log_destination="jsonlog",
        log_directory="statements",
        log_file_mode="0644",
        log_statement="all",
    )
    return LoggingServer(server.url, server.directory / "statements")


@dataclass(frozen=True)
class Names:
    """Names that statements leave to the search path."""

    functions: frozenset[str]
    relations: frozenset[str]
    types: frozenset[str]
    operators: frozenset[str]

    @classmethod
    def of(cls, statements: Iterable[str], keywords: Iterable[str]) -> "Names":
        texts = [_NOT_NAMES.sub(" ", text) for text in statements]
        taken = frozenset(keywords)
        return cls(
            functions=_found(_FUNCTION, texts) - taken,
            relations=_found(_RELATION, texts) - taken,
            types=_found(_TYPE, texts) - taken,
            # An operator after a schema stands between parentheses: see the pattern's caller.
            operators=_found(_OPERATOR, [re.sub(r"OPERATOR\([^)]*\)", " ", t) for t in texts])
            - {"!", "=>", "*,", "->"},
        )


def _found(pattern: re.Pattern[str], texts: Iterable[str]) -> frozenset[str]:
    return frozenset(found for text in texts for found in pattern.findall(text))


def keywords_of(database: Database) -> list[str]:
    """Words of SQL's own, which no function of that name can take the place of."""
    return [
        word for (word,) in database.rows("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'")
    ]


def plant(database: Database, names: Names, schemas: Iterable[str]) -> int:
    """Put a look-alike for each name into each schema; returns how many there are."""
    planted = 0
    with database.connect() as connection:
        connection.execute("SET search_path = pg_catalog")
        connection.execute("SET log_statement = 'none'")  # thousands, which nobody asks for
        for statement in _look_alikes(names, tuple(schemas)):
            try:
                connection.execute(statement)
                planted += statement.startswith("CREATE")
            except psycopg.errors.ProgrammingError:
                continue  # what nobody could plant: an operator with a name that is none
    return planted


def _look_alikes(names: Names, schemas: tuple[str, ...]) -> Iterator[str]:
    for schema in schemas:
        yield (
            f"CREATE FUNCTION {schema}.called(text) RETURNS bool LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE LOG '{CALLED}%', $1; RETURN true; END$$"
        )
        for name in sorted(names.functions):
            for types in ("", *_TYPES, *(f"{a}, {b}" for a, b in _pairs())):
                yield _function(schema, name, types)
        for name in sorted(names.relations):
            yield f'CREATE TABLE {schema}."{name}" (a_look_alike int)'
        for name in sorted(names.types):
            check = f"{schema}.called('type {name}')"
            yield f'CREATE DOMAIN {schema}."{name}" AS pg_catalog."{name}" CHECK ({check})'
        for name in sorted(names.operators):
            for number, (left, right) in enumerate(_pairs()):
                made = f"operator_{number}_{name.encode().hex()}"
                returns = "bool" if set(name) & set("<>=~!") else "anyelement"
                yield _function(schema, made, f"{left}, {right}", f"operator {name}", returns)
                yield (
                    f"CREATE OPERATOR {schema}.{name} (FUNCTION = {schema}.{made}, "
                    f"LEFTARG = {left}, RIGHTARG = {right})"
                )


def _pairs() -> Iterator[tuple[str, str]]:
    yield from ((of, of) for of in _TYPES if of != "anyelement")
    yield from _CROSSED


def _function(schema: str, name: str, types: str, shown: str = "", returns: str = "") -> str:
    """A function that says that it was called; what it returns matters no more."""
    first = types.partition(",")[0] or "int8"
    returned = returns if returns == "bool" else first
    return (
        f'CREATE FUNCTION {schema}."{name}"({types}) RETURNS {returned} LANGUAGE plpgsql AS '
        f"$$BEGIN RAISE LOG '{CALLED}{shown or name}({types})'; RETURN NULL; END$$"
    )
