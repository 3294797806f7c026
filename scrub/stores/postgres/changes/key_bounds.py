# SPDX-License-Identifier: Apache-2.0
"""Stretches of a primary key in SQL, in the order that Python compares the keys in."""

from collections.abc import Sequence
from typing import Any

from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_types import IN_BYTES, type_sql
from scrub.stores.postgres.changes.streamed_table import WantedColumn
from scrub.stores.postgres.quoting import identifier, literal


def ordering(columns: Sequence[WantedColumn]) -> str:
    """What follows ORDER BY."""
    return ", ".join(map(_in_order, columns))


def where(columns: Sequence[WantedColumn], *bounds: tuple[str, Key | None]) -> str:
    """A condition of comparisons with keys, such as (">", key); None sets no bound."""
    conditions = [_bound(columns, compare, key) for compare, key in bounds if key is not None]
    return " AND ".join(conditions) or "true"


def _bound(columns: Sequence[WantedColumn], compare: str, key: Key) -> str:
    """A bound may have fewer values than the key has columns: it is before all that begin so."""
    names = ", ".join(map(_in_order, columns[: len(key)]))
    values = ", ".join(map(_literal, key, columns))
    return f"ROW({names}) {compare} ROW({values})"


def _in_order(column: WantedColumn) -> str:
    name = identifier(column.name)
    return f'{name} COLLATE pg_catalog."C"' if column.type_oid in IN_BYTES else name


def _literal(value: Any, column: WantedColumn) -> str:
    return f"{literal(value)}::{type_sql(column.type_oid)}"
