# SPDX-License-Identifier: Apache-2.0
"""Naming defects among entries that are held here: a full outer join in this process.

It finds what `checks.columns.merge_join` finds in Spark, and names it alike. Both sides are grouped
by what identifies an entry, so that each identity is met once. NULL equals
NULL, NaN equals NaN and -0.0 equals 0.0. It is for entries of which most disagree: sifting leaves
out the others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from checks.columns.difference_kinds import OF_NO_CHOSEN_ROW, kinds_of, kinds_of_chosen
from checks.held_columns import column_of_bytes, with_one_zero
from checks.named_defects import HeldDefect
from scrub.codec.arrow_text import text_of
from scrub.model.defect import DefectKind
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
        for number, row in enumerate(_values(self.columns)):
            identity, stored = row[: self.identifying], row[self.identifying :]
            group = found.setdefault(identity, _Group(Counter(), {}))
            group.copies[stored] += 1
            group.row_of.setdefault(stored, number)
        return found

    def texts(self, row: int, places: Sequence[int]) -> list[str | None]:
        """Some values of a row as canonical texts."""
        return [text_of(self.columns[place][row], self.types[place]) for place in places]


def keys_of(columns: Sequence[pa.Array]) -> frozenset[Values]:
    """The primary keys of some rows, by their columns."""
    return frozenset(_values([with_one_zero(column) for column in columns]))


def _values(columns: Sequence[pa.Array]) -> Iterable[Values]:
    """Rows such that equal ones are equal here."""
    return comparable(pa.table({str(n): column_of_bytes(c) for n, c in enumerate(columns)}))


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Which of the expected entries are of rows that `--where` chooses, and their primary keys."""

    entries: HeldEntries
    keys: frozenset[Values] | None  # None: there are no entries of others


def differences(
    expected: HeldEntries,
    actual: HeldEntries,
    table: Table,
    index: Index,
    slot: int,
    chosen: ChosenRows | None = None,
) -> Iterator[HeldDefect]:
    """Every disagreement of one index, as checks.columns.merge_join.DEFECT_SCHEMA.

    Of chosen rows, entries of other rows with the same primary key are expected as well, but
    nobody misses them.
    """
    of_rows, of_index = expected.groups(), actual.groups()
    of_chosen = None if chosen is None else chosen.entries.groups()
    key = [expected.places[name] for name in table.primary_key]
    indexed = list(range(len(index.key)))
    stored = list(range(expected.identifying, len(index.entry)))
    for identity in {**of_rows, **of_index}:
        wanted = of_rows.get(identity, _NOTHING)
        there = of_index.get(identity, _NOTHING)
        if chosen is None or of_chosen is None:
            kinds = _kinds(wanted, there)
        elif chosen.keys is None or tuple(identity[place] for place in key) in chosen.keys:
            kinds = _kinds_of_chosen(of_chosen.get(identity, _NOTHING), wanted, there)
        else:
            continue
        if not kinds:
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
        for kind in kinds:
            yield {**found, "kind": kind.value}


def _kinds(wanted: _Group, there: _Group) -> list[DefectKind]:
    """How the entries of one identity disagree."""
    if wanted.copies == there.copies:
        return []
    found = kinds_of(wanted.number, there.number, _other_values(wanted, there))
    return [kind for kind, holds in found.items() if holds]


def _kinds_of_chosen(chosen: _Group, wanted: _Group, there: _Group) -> list[DefectKind]:
    """The same where only chosen rows are looked at."""
    if chosen.copies == there.copies:
        return []
    if not chosen.number or wanted.copies == there.copies:
        return [OF_NO_CHOSEN_ROW]
    found = kinds_of_chosen(
        chosen.number, wanted.number, there.number, _other_values(wanted, there)
    )
    return [kind for kind, holds in found.items() if holds] or [OF_NO_CHOSEN_ROW]


def _other_values(wanted: _Group, there: _Group) -> bool:
    return set(wanted.copies) != set(there.copies)


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
