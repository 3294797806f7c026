# SPDX-License-Identifier: Apache-2.0
"""Which database a store of a catalog means, for people: never its user's password.

Taken from the url as written, so that variables stay variables. A url in which part of a password
may be mistaken for another part is not shown at all.
"""

import re
import shlex
from urllib.parse import parse_qsl, unquote

_PORT = re.compile(r"[0-9]+|\$\{[A-Za-z0-9_]+\}")
_VARIABLE = re.compile(r"\$\{[A-Za-z0-9_]+\}")
_NOT_SHOWN = "a url that is not shown"
_NOT_SAID = "as PG* variables say"


def place_of(url: str | None, schema: str | None) -> str:
    """Host, database and schema."""
    return f"{_database(url or '')}, schema {schema or 'public'}"


def _database(url: str) -> str:
    if not url or _VARIABLE.fullmatch(url):
        return url or _NOT_SAID
    if "://" not in url:
        return _of_pairs(url)
    rest = url.partition("://")[2]
    before, has_user, after = rest.rpartition("@")
    if has_user and re.search(r"[/?#@]", before):
        return _NOT_SHOWN
    place, _, query = (after if has_user else rest).partition("?")
    authority, _, database = place.partition("/")
    host, _, port = authority.rpartition(":") if _has_port(authority) else (authority, "", "")
    named = {"host": host, "port": port, "dbname": unquote(database)}
    return _shown({**{k: v for k, v in named.items() if v}, **dict(parse_qsl(query))})


def _has_port(authority: str) -> bool:
    """An address in brackets has colons of its own."""
    return ":" in authority.rpartition("]")[2]


def _of_pairs(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError:
        return _NOT_SHOWN
    if any(not word.partition("=")[0] or "=" not in word for word in words):
        return _NOT_SHOWN
    return _shown({name: value for name, _, value in (word.partition("=") for word in words)})


def _shown(named: dict[str, str]) -> str:
    port = named.get("port", "")
    if port and not all(map(_PORT.fullmatch, port.split(","))):
        return _NOT_SHOWN
    host = named.get("host") or named.get("hostaddr") or ""
    parts = [f"host {host}"] if host else []
    parts += [f"port {port}"] if port else []
    parts += [f"database {named['dbname']}"] if named.get("dbname") else []
    return ", ".join(parts) or _NOT_SAID
