# SPDX-License-Identifier: Apache-2.0
"""Names and values inside SQL text, always quoted: a name may hold anything but a zero byte."""

from datetime import date
from decimal import Decimal


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    _demand_no_zero(name)
    return '"' + name.replace('"', '""') + '"'


def bare(name: str) -> str:
    """A quoted name as people write it; anything else as it is."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def qualified(schema: str, name: str) -> str:
    return f"{identifier(schema)}.{identifier(name)}"


def beside_parameters(sql: str) -> str:
    """Text that goes into a statement with parameters, whose places the driver marks with %."""
    return sql.replace("%", "%%")


def identifier_beside_parameters(name: str) -> str:
    return beside_parameters(identifier(name))


def literal(value: bool | int | str | date | Decimal) -> str:
    """A value as SQL writes it, without its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return f"({value})"
    text = value if isinstance(value, str) else value.isoformat()
    _demand_no_zero(text)
    # Backslashes are plain in such a string only while standard_conforming_strings is on.
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f" E'{escaped}'"


def _demand_no_zero(text: str) -> None:
    if "\0" in text:
        raise ValueError("PostgreSQL has no text with a zero byte")
