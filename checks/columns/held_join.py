# SPDX-License-Identifier: Apache-2.0
"""Naming defects among entries that are held here: a full outer join in this process.

It finds what `checks.columns.merge_join` finds in Spark, and names it alike. Both sides are grouped
by what identifies an entry, so that each identity is met once. NULL equals
NULL, NaN equals NaN and -0.0 equals 0.0. It is for entries of which most disagree: sifting leaves
out the others.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from checks.columns.difference_kinds import kinds_of
from checks.held_columns import column_of_bytes, with_one_zero
from checks.named_defects import HeldDefect
from scrub.codec.arrow_text import text_of
from scrub.model.table import Index, Table
from scrub.model.types import ColumnType
from scrub.stores.entry_states import Values, comparable

_Groups = dict[Values, "_Group"]


@dataclass(slots=True)
class _Group:
    """The entries of one identity on one side: which stored values how often, and where."""

    copies: Counter[Values]
    row_of: dict[Values, int]  # one of the rows with these stored values

    @property
    def number(self) -> int:
        return self.copies.total()

    @property
    def variants(self) -> list[Values]:
        """The different stored values, in Spark's order."""
        return sorted(self.copies, key=_in_order)


_NOTHING = _Group(Counter(), {})


class HeldEntries:
    """The entries of one side of an index, in the order of the index's columns."""

    def __init__(self, entries: pa.Table, index: Index, types: Sequence[ColumnType]) -> None:
        self.types = types
        self.columns = [with_one_zero(column) for column in entries.columns]
        self.identifying = len(index.key) + len(index.suffix)
        self.places = {column.name: place for place, column in enumerate(index.entry)}

    def groups(self) -> _Groups:
        """What there is of each identity."""
        found: _Groups = {}
        by_position = {str(place): column_of_bytes(c) for place, c in enumerate(self.columns)}
        for number, row in enumerate(comparable(pa.table(by_position))):
            identity, stored = row[: self.identifying], row[self.identifying :]
            group = found.setdefault(identity, _Group(Counter(), {}))
            group.copies[stored] += 1
            group.row_of.setdefault(stored, number)
        return found

    def texts(self, row: int, places: Sequence[int]) -> list[str | None]:
        """Some values of a row as canonical texts."""
        return [text_of(self.columns[place][row], self.types[place]) for place in places]


def differences(
    expected: HeldEntries, actual: HeldEntries, table: Table, index: Index, slot: int
) -> Iterator[HeldDefect]:
    """Every disagreement of one index, as checks.columns.merge_join.DEFECT_SCHEMA."""
    of_rows, of_index = expected.groups(), actual.groups()
    key = [expected.places[name] for name in table.primary_key]
    indexed = list(range(len(index.key)))
    stored = list(range(expected.identifying, len(index.entry)))
    for identity in {**of_rows, **of_index}:
        wanted = of_rows.get(identity, _NOTHING)
        there = of_index.get(identity, _NOTHING)
        if wanted.copies == there.copies:
            continue
        side, row = (
            (expected, next(iter(wanted.row_of.values())))
            if wanted.number
            else (actual, next(iter(there.row_of.values())))
        )
        found = {
            "slot": slot,
            "expected_copies": wanted.number,
            "actual_copies": there.number,
            "primary_key": side.texts(row, key),
            "index_key": side.texts(row, indexed),
            "expected": _shown(expected, wanted, there, stored),
            "actual": _shown(actual, there, wanted, stored),
        }
        other_values = set(wanted.copies) != set(there.copies)
        for kind, holds in kinds_of(wanted.number, there.number, other_values).items():
            if holds:
                yield {**found, "kind": kind.value}


def _shown(
    side: HeldEntries, group: _Group, other: _Group, stored: Sequence[int]
) -> list[str | None] | None:
    """The stored values to show: the first that the other side lacks, else the first."""
    if not group.number:
        return None
    variants = group.variants
    chosen = next((one for one in variants if one not in other.copies), variants[0])
    return side.texts(group.row_of[chosen], stored)


def _in_order(values: Values) -> tuple[tuple[bool, Any], ...]:
    """Spark's order of structs: NULL before anything, NaN, which is held as a text, after it."""
    return tuple(
        (value is not None, (isinstance(value, str), "" if value is None else value))
        for value in values
    )
