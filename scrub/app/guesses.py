# SPDX-License-Identifier: Apache-2.0
"""Guesses about relations, from their names, columns and a sample. Each says what it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa

from scrub.app.discovery import FoundRelation
from scrub.catalog.names import problem_of
from scrub.model.table import Column
from scrub.model.types import TypeName

_KEY_COLUMNS_MAX = 8  # of these, pairs are tried
_MATCHES_MIN = 5
_ROWS_RATIO_MAX = 2


@dataclass(frozen=True, slots=True)
class KeyGuess:
    """A primary key, and why it may be one."""

    columns: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class IndexGuess:
    """How a relation could be an index of a table, and why."""

    name: str
    key: tuple[str, ...]
    stored: tuple[str, ...]
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
            rows = relation.sample.num_rows
            why = (
                f"no duplicate in {rows} rows looked at" if rows else "by its name, it has no rows"
            )
            return KeyGuess(names, why)
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


def guess_index(
    relation: FoundRelation, table: FoundRelation, primary_key: tuple[str, ...]
) -> IndexGuess | None:
    """How a relation could be an index of a table; None if it does not look like one."""
    types = {column.name: column.type for column in table.columns}
    shared = [column.name for column in relation.columns if types.get(column.name) == column.type]
    beside_key = [name for name in shared if name not in primary_key]
    if not set(primary_key) <= set(shared) or not beside_key:
        return None
    named = relation.name.startswith(f"{table.name}__")
    derived = len(shared) == len(relation.columns) < len(table.columns)
    if not (named or derived) or _contradicts(relation, table, primary_key, beside_key):
        return None
    position = min(shared.index(name) for name in primary_key)
    key = [name for name in shared[:position] if name not in primary_key] or beside_key[:1]
    why = "named after the table" if named else "has only columns of the table, and its key"
    further = [column.name for column in relation.columns if column.name not in shared]
    if further:
        why += f"; further columns are ignored, unless written as {{expr: ..., as: {further[0]}}}"
    return IndexGuess(
        name=_index_name(relation.name, table.name),
        key=tuple(key),
        stored=tuple(name for name in beside_key if name not in key),
        why=why,
    )


def _index_name(relation: str, table: str) -> str:
    rest = relation.removeprefix(f"{table}_").lstrip("_")
    return relation if problem_of(rest) else rest


def _contradicts(
    relation: FoundRelation, table: FoundRelation, primary_key: tuple[str, ...], columns: list[str]
) -> bool:
    """Whether the samples show another thing that merely has columns of the same names."""
    if relation.rows and table.rows and relation.rows > _ROWS_RATIO_MAX * table.rows:
        return True
    if not (relation.sample.num_rows and table.sample.num_rows):
        return False
    wanted = [*primary_key, *columns]
    entries = {row[: len(primary_key)]: row for row in _rows(relation.sample, wanted)}
    pairs = [
        (entries[row[: len(primary_key)]], row)
        for row in _rows(table.sample, wanted)
        if row[: len(primary_key)] in entries
    ]
    agreeing = sum(entry == row for entry, row in pairs)
    return len(pairs) >= _MATCHES_MIN and 2 * agreeing < len(pairs)


def _rows(sample: pa.Table, names: list[str]) -> Iterator[tuple[object, ...]]:
    return zip(*(sample.column(name).to_pylist() for name in names), strict=True)
