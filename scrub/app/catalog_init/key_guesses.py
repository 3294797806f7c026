# SPDX-License-Identifier: Apache-2.0
"""Guesses of primary keys, from names, types and a sample. Each says what it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from scrub.app.catalog_init.discovery import FoundRelation
from scrub.model.table import Column
from scrub.model.types import TypeName

_KEY_COLUMNS_MAX = 8  # of these, pairs are tried


@dataclass(frozen=True, slots=True)
class KeyGuess:
    """A primary key, and why it may be one."""

    columns: tuple[str, ...]
    why: str


def guess_primary_key(relation: FoundRelation) -> KeyGuess | None:
    """The likeliest column, else pair of columns, without a duplicate or NULL in the sample."""
    candidates = sorted(
        (column for column in relation.columns if _can_be_key(column)),
        key=lambda column: _likelihood(column, relation.name),
    )
    singles: Iterator[tuple[Column, ...]] = ((column,) for column in candidates)
    pairs = combinations([c for c in relation.columns if _can_be_key(c)][:_KEY_COLUMNS_MAX], 2)
    for columns in (*singles, *pairs):
        names = tuple(column.name for column in columns)
        if _unique_in_sample(relation.sample, names):
            if rows := relation.sample.num_rows:
                return KeyGuess(names, f"no duplicate in {rows} rows looked at")
            return KeyGuess(names, "by its name, it has no rows")
    return None


def _can_be_key(column: Column) -> bool:
    return column.type.is_integer or column.type.name in (TypeName.STRING, TypeName.DATE)


def _likelihood(column: Column, table: str) -> tuple[int, bool, bool]:
    """Sorts by name first, then NOT NULL before nullable, integers before text."""
    name, table = column.name.lower(), table.lower()
    singular = table.removesuffix("s")
    by_name = (
        name == "id",
        name in (f"{table}_id", f"{singular}_id", f"{table}id", f"{singular}id"),
        name in ("key", "uuid", "pk", f"{table}_key", f"{singular}_key", f"{singular}_uuid"),
        name.endswith(("_id", "_key", "_uuid")),
        True,
    ).index(True)
    return by_name, column.nullable, not column.type.is_integer


def _unique_in_sample(sample: Any, names: Sequence[str]) -> bool:
    if not sample.num_rows:
        return True
    key = sample.select(list(names))
    if any(column.null_count for column in key.columns):
        return False
    return bool(key.group_by(list(names)).aggregate([]).num_rows == key.num_rows)
