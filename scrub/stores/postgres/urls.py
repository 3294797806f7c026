# SPDX-License-Identifier: Apache-2.0
"""Finds mistakes in the url of a database before connecting.

No part of the url is repeated in messages: in a malformed url, part of the password may stand where
a host, a port or a database is expected.
"""

from collections.abc import Mapping

from scrub.errors import UsageError

HINT = "write url: postgresql://user@host:5432/database, the password in ~/.pgpass"
_ESCAPES = "in a name or password, write / as %2F, : as %3A and @ as %40"
_PORT_MAX = 65535


def is_url(text: str) -> bool:
    """Whether libpq takes it for a url; all else are pairs, such as host=... user=..."""
    return text.startswith(("postgresql://", "postgres://"))


def not_understood() -> UsageError:
    """The error for what libpq cannot read; libpq would repeat it."""
    return UsageError(
        "the url of the store, or an option of it, is not one that PostgreSQL understands",
        hint=HINT,
    )


def demand_sound(url: str, parameters: Mapping[str, object]) -> None:
    """Raise UsageError for a url that libpq takes for something else than was meant."""
    place = url.partition("://")[2].partition("?")[0] if is_url(url) else ""
    authority, _, path = place.partition("/")
    if authority.count("@") > 1 or "@" in path:
        raise UsageError("the url of the store has an @ too many", hint=f"{HINT}; {_ESCAPES}")
    ports = str(parameters.get("port") or "").split(",")
    if not all(port == "" or _is_port(port) for port in ports):
        raise UsageError(
            f"the port of the store is not a number from 1 to {_PORT_MAX}",
            hint=f"{HINT}; {_ESCAPES}",
        )


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= _PORT_MAX
