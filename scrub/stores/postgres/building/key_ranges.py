# SPDX-License-Identifier: Apache-2.0
"""Stretches of a primary key, by the operators of its types."""

from collections.abc import Sequence

from scrub.stores.postgres.entry_parts import KeyColumn
from scrub.stores.postgres.quoting import literal


def within(
    keys: Sequence[KeyColumn], lower: Sequence[str] | None, upper: Sequence[str] | None
) -> str:
    """Rows of the table, called r, after one key and up to another."""
    conditions = [
        compared(keys, typed(keys, values))
        for compared, values in ((after, lower), (up_to, upper))
        if values is not None
    ]
    return " AND ".join(conditions) or "true"


def after(keys: Sequence[KeyColumn], values: Sequence[str]) -> str:
    """The row's key comes after another, by the operators of its types."""
    if (operator := _one_of({key.above for key in keys})) is not None:
        return _in_a_row(keys, operator, values)
    first, value = keys[0], values[0]
    beyond, rest = f"r.{first.name} {first.above} {value}", after(keys[1:], values[1:])
    return f"(r.{first.name} {first.at_least} {value} AND ({beyond} OR {rest}))"


def up_to(keys: Sequence[KeyColumn], values: Sequence[str]) -> str:
    """The row's key comes before another, or is the same."""
    if (operator := _one_of({key.up_to for key in keys})) is not None:
        return _in_a_row(keys, operator, values)
    first, value = keys[0], values[0]
    equal, rest = f"r.{first.name} {first.equality} {value}", up_to(keys[1:], values[1:])
    return f"(r.{first.name} {first.up_to} {value} AND (NOT {equal} OR {rest}))"


def _one_of(operators: set[str]) -> str | None:
    return next(iter(operators)) if len(operators) == 1 else None


def _in_a_row(keys: Sequence[KeyColumn], operator: str, values: Sequence[str]) -> str:
    """Such a comparison the server takes as one bound of an index."""
    return f"({', '.join(f'r.{key.name}' for key in keys)}) {operator} ({', '.join(values)})"


def typed(keys: Sequence[KeyColumn], values: Sequence[str]) -> list[str]:
    pairs = zip(keys, values, strict=True)
    return [f"{literal(value)}::{key.type}" for key, value in pairs]
