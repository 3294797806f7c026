# SPDX-License-Identifier: Apache-2.0
"""Connecting to PostgreSQL, and saying what went wrong without saying a password."""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scrub.errors import MissingExtra, StoreUnavailable
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.urls import demand_sound, not_understood

if TYPE_CHECKING:
    import psycopg

APPLICATION_NAME = "scrub"
WORKERS = "max_parallel_workers_per_gather"
ROW_SECURITY = "row_security"
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
    # Where policies would hide rows, the server says so instead of showing the rest.
    ROW_SECURITY: "off",
}
"""What a session is set to, unless the catalog's options say otherwise."""

SEE_ALL_ROWS = "connect as a role with BYPASSRLS, or as one that the policies do not apply to"

VERSION_MIN = 140000

_FROM_ENVIRONMENT = {"PGTZ": "TimeZone", "PGDATESTYLE": "DateStyle"}
"""Variables that libpq lets have the last word, whatever a connection string says."""


def conninfo_of(url: str | None, options: Mapping[str, str]) -> str:
    """All that libpq must know; what is not said here it takes from PG* variables and ~/.pgpass."""
    psycopg = require_psycopg()
    settings = {**SERVER_SETTINGS, **{k: v for k, v in options.items() if k in SERVER_SETTINGS}}
    # Not for the catalog to choose: of some of the rows, no answer would be true.
    settings[ROW_SECURITY] = SERVER_SETTINGS[ROW_SECURITY]
    parameters = {key: value for key, value in options.items() if key not in SERVER_SETTINGS}
    parameters.setdefault("connect_timeout", "10")
    parameters["options"] = " ".join(
        [
            *([parameters["options"]] if "options" in parameters else []),
            *(f"-c {name}={_escaped(value)}" for name, value in settings.items()),
        ]
    )
    try:
        text: str = psycopg.conninfo.make_conninfo(
            url or "", **{**parameters, "application_name": APPLICATION_NAME}
        )
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
    """The driver, or a word on how to get it."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise MissingExtra("postgres", "reading PostgreSQL") from error
    return psycopg


def connect(conninfo: str) -> "psycopg.Connection[Any]":
    """A connection in which nothing has begun; `StoreUnavailable` says who did not answer."""
    driver = require_psycopg()
    try:
        connection: psycopg.Connection[Any] = driver.connect(conninfo)
        for statement in said_again(conninfo):
            connection.execute(statement)
        connection.commit()
    except driver.OperationalError as error:
        reason = without_secrets(first_line(error), conninfo)
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
    """The url as it may be written down."""
    without_user_password = re.sub(r"^([a-z]+://[^/:@]*):[^/]*@", r"\1@", url)
    cleaned = re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", without_user_password)
    return cleaned.rstrip("?&")


def without_secrets(text: str, conninfo: str) -> str:
    """The text with the password, should it have got into it, blotted out."""
    psycopg = require_psycopg()
    password = psycopg.conninfo.conninfo_to_dict(conninfo).get("password")
    return text.replace(str(password), "***") if password else text


def what_to_do(reason: str) -> str | None:
    """A hint for what the server refused, as far as there is one."""
    return SEE_ALL_ROWS if "row-level security" in reason else None


def first_line(error: BaseException) -> str:
    """What a server says first, without the markers that drivers put before it."""
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return re.sub(r"^.*?(?:ERROR|FATAL):\s*", "", text.strip())
