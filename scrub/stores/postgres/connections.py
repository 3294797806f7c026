# SPDX-License-Identifier: Apache-2.0
"""Connects to PostgreSQL, and reports errors without passwords.

Every session finds names in `SEARCH_PATH` only, where nobody but a superuser can put anything. In
a schema that others may write to, they could put a function or an operator that fits a call
better than PostgreSQL's own, and it would run with the rights of the role that scrub connects as,
in read-only transactions too. So this is the rule for SQL that scrub sends:

- relations, types, functions and operators of users are written with their schema;
- functions of PostgreSQL's own are written with theirs where a statement reads rows of users;
- operators on values of a type that scrub has not chosen are written with their schema too, see
  `equality`: in this path the server would not find those of an extension's type, and take text's;
- expressions of a catalog are resolved in this path like everything else.
"""

import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, quote_plus

from scrub.errors import MissingExtra, StoreUnavailable, first_line
from scrub.model.table import DATABASE_PATH
from scrub.redaction import redacted
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.urls import demand_sound, not_understood

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.Connection[Any]"
"""A session of the server; a text until types are checked, since psycopg is an extra."""

APPLICATION_NAME = "scrub"
WORKERS = "max_parallel_workers_per_gather"
ROW_SECURITY = "row_security"
SEARCH_PATH = DATABASE_PATH
"""Temporary objects come last: where they are not named, they would come first."""
PIN_PATH = f"SET search_path = {SEARCH_PATH}"
PIN_PATH_LOCALLY = f"SET LOCAL search_path = {SEARCH_PATH}"
SERVER_SETTINGS = {
    "statement_timeout": "0",
    "lock_timeout": "10s",
    # The connection that holds the snapshot does nothing while others read.
    "idle_in_transaction_session_timeout": "0",
    # Two processes at work: faster than one, and the other cores are left to those who read. While
    # others write, one is enough: see `sessions.ask`.
    WORKERS: "1",
    # Every value has one spelling, whatever the server is set to.
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    # Names of months and signs in numbers are those of no language.
    "lc_time": "C",
    "lc_numeric": "C",
    "lc_monetary": "C",
    # The zone of the catalog or of the table; see `Store.in_time_zone`.
    "TimeZone": "UTC",
}
"""What a session is set to, unless the catalog's options say otherwise."""
FIXED_SETTINGS = {
    # Where policies would hide rows, the server says so instead of showing the rest.
    ROW_SECURITY: "off",
    "search_path": SEARCH_PATH,
}
"""What a session is set to whatever the catalog says: without it, no answer would be true."""

SECRETS = (
    "password",
    "sslpassword",
    "oauth_client_secret",
    "scram_client_key",
    "scram_server_key",
)
"""What libpq is told and nobody else."""
SECRET_VARIABLES = ("PGPASSWORD",)
_SHORT, _LONG = 4, 8

SEE_ALL_ROWS = "connect as a role with BYPASSRLS, or as one that the policies do not apply to"

WITH_SCHEMA = (
    "names are resolved in pg_catalog only, so that no other role can substitute its own: write "
    "functions, types and operators of other schemas with their schema, such as "
    "public.f(email), email::public.citext, a OPERATOR(public.=) b"
)

VERSION_MIN = 140000

_FIXED_PARAMETERS = {
    "application_name": APPLICATION_NAME,
    # The driver takes what arrives for UTF-8, whatever the role or PGCLIENTENCODING asks for.
    "client_encoding": "UTF8",
}
_WITH_TRANSACTION_TIMEOUT = 170000
_NO_TRANSACTION_TIMEOUT = "SET transaction_timeout = 0"
"""A statement, since servers refuse a connection with a setting that they do not know."""

_FROM_ENVIRONMENT = {"PGTZ": "TimeZone", "PGDATESTYLE": "DateStyle"}
"""Variables that libpq lets have the last word, whatever a connection string says."""


def conninfo_of(url: str | None, options: Mapping[str, str]) -> str:
    """The connection string; libpq takes missing settings from PG* variables and ~/.pgpass."""
    psycopg = require_psycopg()
    chosen = {key: value for key, value in options.items() if key in SERVER_SETTINGS}
    settings = {**SERVER_SETTINGS, **chosen, **FIXED_SETTINGS}
    parameters = {key: value for key, value in options.items() if key not in settings}
    parameters.setdefault("connect_timeout", "10")
    # Of settings that come twice, and before those of a role or a database, the last one holds.
    parameters["options"] = " ".join(
        [
            *([parameters["options"]] if "options" in parameters else []),
            *(f"-c {name}={_escaped(value)}" for name, value in settings.items()),
        ]
    )
    try:
        text: str = psycopg.conninfo.make_conninfo(url or "", **{**parameters, **_FIXED_PARAMETERS})
    except psycopg.ProgrammingError as error:
        raise not_understood() from error
    demand_sound(url or "", psycopg.conninfo.conninfo_to_dict(text))
    return text


def said_again(conninfo: str) -> list[str]:
    """Statements for settings of the connection string that the environment has overridden."""
    overridden = [name for variable, name in _FROM_ENVIRONMENT.items() if variable in os.environ]
    options = require_psycopg().conninfo.conninfo_to_dict(conninfo).get("options", "")
    told = re.findall(r"-c (\w+)=((?:\\.|[^\s\\])*)", str(options))
    values = {name: re.sub(r"\\(.)", r"\1", value) for name, value in told}
    return [f"SET {name} = {literal(values[name])}" for name in overridden if name in values]


def _escaped(value: str) -> str:
    return re.sub(r"([\\ ])", r"\\\1", value)


def require_psycopg() -> Any:
    """The psycopg module; MissingExtra says how to install it."""
    _required("psycopg.conninfo")
    return _required("psycopg")


def require_adbc() -> Any:
    """The driver that hands over Arrow."""
    return _required("adbc_driver_postgresql.dbapi")


def _required(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra("postgres", "reading PostgreSQL") from error


def connect(conninfo: str) -> Connection:
    """A connection without an open transaction. Raises StoreUnavailable."""
    driver = require_psycopg()
    try:
        connection: Connection = driver.connect(conninfo, autocommit=True)
        # A trigger on login could have set another path, and a pooler ignored the options.
        for statement in (PIN_PATH, *said_again(conninfo)):
            connection.execute(statement)
        if connection.info.server_version >= _WITH_TRANSACTION_TIMEOUT:
            connection.execute(_NO_TRANSACTION_TIMEOUT)  # the snapshot is held by one transaction
        connection.autocommit = False
    except driver.OperationalError as error:
        reason = safe_message(error, conninfo)
        hint = "try the same url with psql"
        if "password" in reason:
            hint = "put the password into ~/.pgpass or PGPASSWORD, and " + hint
        raise StoreUnavailable(f"no connection to PostgreSQL: {reason}", hint=hint) from error
    if connection.info.server_version < VERSION_MIN:
        version = connection.info.server_version // 10000
        connection.close()
        raise StoreUnavailable(f"PostgreSQL {version} is too old: 14 or newer is needed")
    return connection


def without_password(url: str) -> str:
    """The url, or the pairs of a connection string, as it may be written down."""
    psycopg = require_psycopg()
    given = psycopg.conninfo.conninfo_to_dict(url)
    kept = {name: value for name, value in given.items() if name not in SECRETS}
    if kept == given:
        return url.rstrip("?&")
    without_user_password = re.sub(r"^([a-z]+://[^/:@]*):[^/]*@", r"\1@", url)
    cleaned = re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", without_user_password).rstrip("?&")
    if "://" in cleaned and psycopg.conninfo.conninfo_to_dict(cleaned) == kept:
        return cleaned
    return str(psycopg.conninfo.make_conninfo("", **kept))


def without_secrets(text: str, conninfo: str) -> str:
    """The text with every password in it masked.

    What has the same letters as a password by chance stays: stars would tell that it has.
    """
    psycopg = require_psycopg()
    given = psycopg.conninfo.conninfo_to_dict(conninfo)
    public = [str(value) for name, value in given.items() if name not in SECRETS]
    secrets = [str(given[name]) for name in SECRETS if given.get(name)]
    secrets += [os.environ[name] for name in SECRET_VARIABLES if os.environ.get(name)]
    for secret in sorted({*secrets, *map(quote, secrets), *map(quote_plus, secrets)}, key=len):
        if len(secret) >= _SHORT and not any(secret in value for value in public):
            text = re.sub(_alone(secret), "***", text)
    return redacted(text)


def _alone(secret: str) -> str:
    """A pattern for the secret; a short one within a word is a part of the word."""
    if len(secret) >= _LONG:
        return re.escape(secret)
    before = r"(?<!\w)" if secret[0].isalnum() else ""
    after = r"(?!\w)" if secret[-1].isalnum() else ""
    return before + re.escape(secret) + after


def what_to_do(reason: str) -> str | None:
    """A hint for what the server refused, as far as there is one."""
    if "row-level security" in reason:
        return SEE_ALL_ROWS
    is_unknown = re.match(r"(?:function|operator|type) .*does not exist", reason)
    return WITH_SCHEMA if is_unknown else None


def is_not_found(error: BaseException) -> bool:
    """Whether the server knows no function, operator, type or relation of a name."""
    return getattr(error, "sqlstate", None) in ("42883", "42704", "42P01", "3F000")


def safe_message(error: BaseException, conninfo: str) -> str:
    """What a server says first, with every password masked."""
    return without_secrets(server_message(error), conninfo)


def only_row(connection: Connection, query: str, values: Sequence[object] = ()) -> Sequence[Any]:
    """The row of a query that gives one whatever happens, such as an aggregate."""
    row: Sequence[Any] | None = connection.execute(query, values or None).fetchone()
    assert row is not None, "such queries return a row"
    return row


def server_message(error: BaseException) -> str:
    """What a server says first, without the markers that drivers put before it."""
    return re.sub(r"^.*?(?:ERROR|FATAL):\s*", "", first_line(error))
