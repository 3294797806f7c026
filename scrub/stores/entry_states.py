# SPDX-License-Identifier: Apache-2.0
"""Conditional writes of the entries of a few keys: pure, whoever stores them.

Every write says what it expects to find. There is no plain put. A store reads what is there, asks
here what becomes of each entry, and commits the difference, all at one moment. An entry that finds
something else in its place is left alone and reported as a conflict; it does not stop the others.
Equality is that of checks: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa

from scrub.model.entry_shape import EntryShape, Tombstones
from scrub.model.table import Column

Values = tuple[Hashable, ...]
_NAN = "not a number"  # no float, so that it equals itself only

DAMAGED: Values = ("a value that its column cannot hold",)
"""What a row demands that proves nothing: no entry follows from it, and no entry is wrong."""


class Outcome(StrEnum):
    """What became of one entry."""

    WRITTEN = "written"  # put, replaced or deleted, as was asked
    UNCHANGED = "unchanged"  # it was like that already
    CONFLICT = "conflict"  # something else is there


def comparable(entries: pa.Table) -> list[Values]:
    """Rows as tuples that are equal when checks call them equal."""
    return list(zip(*map(_comparable, entries.columns), strict=True))


def _comparable(column: pa.ChunkedArray) -> list[Hashable]:
    arrow = column.type
    if pa.types.is_timestamp(arrow):
        column = column.cast(pa.int64())  # Python's times end with the year 9999
    elif pa.types.is_date32(arrow):
        column = column.cast(pa.int32())
    values: list[Hashable] = column.to_pylist()
    if pa.types.is_floating(arrow):
        return [_NAN if isinstance(v, float) and math.isnan(v) else v for v in values]
    return values


def with_zeros_of(demanded: Sequence[Sequence[Values]], given: pa.Table) -> pa.Table:
    """Entries with the zeros of the rows that demand them, where a report told the other one.

    -0.0 equals 0.0, and a check may tell either; what is written is what the row has.
    """
    rows = comparable(given)
    wanted = [
        next((entry for entry in now if entry == row), row)
        for now, row in zip(demanded, rows, strict=True)
    ]
    for place, column in enumerate(given.columns):
        if pa.types.is_floating(column.type):
            exact = [
                entry[place] if entry[place] == 0 else value
                for entry, value in zip(wanted, column.to_pylist(), strict=True)
            ]
            given = given.set_column(place, given.schema.field(place), pa.array(exact, column.type))
    return given


def shape_by(names: Sequence[str], columns: Sequence[Column], relation: str) -> EntryShape:
    """Entries that some of their columns identify, in this order, whatever else they hold."""
    known = {column.name: column for column in columns}
    return EntryShape(
        relation=relation,
        indexed=tuple(known[name] for name in names),
        suffix=(),
        stored=tuple(column for name, column in known.items() if name not in names),
    )


def identity(shape: EntryShape, values: Values) -> Values:
    """What tells an entry from others: rows with NULLs never clash in a unique index."""
    indexed = values[: len(shape.indexed)]
    if shape.unique and None not in indexed:
        return indexed
    return values[: len(shape.indexed) + len(shape.suffix)]


@dataclass(slots=True)
class _Held:
    """An entry in its place: one that was found, or one of those given."""

    values: Values
    found: int | None = None  # its number among the entries found
    given: int | None = None  # its number among the entries to be written
    instead: int | None = None  # of a given one: the number of the found entry whose place it takes
    marked: bool = False  # as deleted, where relations mark what is


@dataclass(slots=True)
class EntryStates:
    """The entries of some keys: those found, as changed by one write after the other."""

    shape: EntryShape
    held: dict[Values, list[_Held]] = field(default_factory=dict)
    gone: dict[int, int | None] = field(default_factory=dict)
    """Found entries that are to be removed, by number, and which of the given ones does it."""

    @classmethod
    def of(
        cls, shape: EntryShape, found: Sequence[Values], marks: Sequence[bool] | None = None
    ) -> "EntryStates":
        states = cls(shape)
        for number, values in enumerate(found):
            held = _Held(values, found=number, marked=bool(marks and marks[number]))
            states.held.setdefault(identity(shape, values), []).append(held)
        return states

    def init_put(self, values: Values, given: int, fail_on_tombstones: bool) -> Outcome:
        """Write an entry where there is none.

        A tombstone counts as none, or with `fail_on_tombstones` as a conflict.
        """
        there = self._there(values)
        if any(held.values == values and not held.marked for held in there):
            return Outcome.UNCHANGED
        if any(not self._is_tombstone(held) for held in there) or (there and fail_on_tombstones):
            return Outcome.CONFLICT
        self._replace(there, _Held(values, given=given), given)
        return Outcome.WRITTEN

    def delete_if_equal(self, values: Values, given: int) -> Outcome:
        """Delete an entry that is still as given, with all copies.

        Where the relation keeps tombstones, one takes its place.
        """
        if equal := self._equal(values):
            self._replace(equal, self._left_by(values, given), given)
            return Outcome.WRITTEN
        absent = all(map(self._is_tombstone, self._there(values)))
        return Outcome.UNCHANGED if absent else Outcome.CONFLICT

    def replace_if_equal(self, before: Values, after: Values, given: int) -> Outcome:
        """Replace an entry that is still as given by another one of the same key.

        UNCHANGED where `after` already exists; CONFLICT also where there is nothing.
        """
        if identity(self.shape, before) != identity(self.shape, after):
            raise ValueError("an entry can only be replaced by one of the same key")
        if any(held.values == after for held in self._there(before)):
            return Outcome.UNCHANGED
        equal = self._equal(before)
        if not equal:
            return Outcome.CONFLICT
        self._replace(equal, _Held(after, given=given), given)
        return Outcome.WRITTEN

    def copies(self, values: Values) -> int:
        """How many times an entry is there."""
        return len(self._equal(values))

    def has_others(self, values: Values) -> bool:
        """Whether other entries are in the place of an entry."""
        return any(
            held.values != values and not self._is_tombstone(held) for held in self._there(values)
        )

    def keep_one(self, values: Values, given: int) -> int:
        """Remove all copies of an entry but one; how many went."""
        equal = self._equal(values)
        self._replace(equal[1:], None, given)
        return max(0, len(equal) - 1)

    def add_copies(self, values: Values, given: int, copies: int) -> bool:
        """Put copies beside an entry that is there once; whether it is."""
        if self.copies(values) != 1:
            return False
        for _ in range(copies):
            self.add(values, given)
        return True

    def take(self, values: Values, given: int | None = None) -> bool:
        """Remove one copy of an entry, however many there are; whether there was one."""
        there = self._there(values)
        equal = next((held for held in there if held.values == values), None)
        if equal is not None:
            self._replace([equal], None, given)
        return equal is not None

    def add(self, values: Values, given: int) -> None:
        """One more copy of an entry, whatever is there: for those who count copies."""
        self._replace([], _Held(values, given=given), given)

    @property
    def new(self) -> list[tuple[int, bool]]:
        """Which of the given entries are to be written, and which of them as tombstones."""
        return [(number, self._is_tombstone(held)) for number, held in self._given]

    @property
    def updates(self) -> list[tuple[int, int, bool]]:
        """Found entries that a given one takes the place of: both numbers, and if as a tombstone.

        They are among those gone and those new, for stores that cannot change an entry in place.
        """
        return [
            (held.instead, number, self._is_tombstone(held))
            for number, held in self._given
            if held.instead is not None
        ]

    @property
    def inserts(self) -> list[tuple[int, bool]]:
        """Given entries that take nobody's place, and which of them are tombstones."""
        return [
            (number, self._is_tombstone(held))
            for number, held in self._given
            if held.instead is None
        ]

    @property
    def deletes(self) -> dict[int, int | None]:
        """Found entries whose place stays empty, and which of the given ones removes each."""
        changed = {found for found, _, _ in self.updates}
        return {found: by for found, by in self.gone.items() if found not in changed}

    @property
    def _given(self) -> list[tuple[int, _Held]]:
        held = [one for of in self.held.values() for one in of]
        return [(one.given, one) for one in held if one.given is not None]

    def _there(self, values: Values) -> list[_Held]:
        return self.held.get(identity(self.shape, values), [])

    def _equal(self, values: Values) -> list[_Held]:
        """The copies of an entry that are there."""
        there = self._there(values)
        return [held for held in there if held.values == values and not self._is_tombstone(held)]

    def _replace(self, old: Sequence[_Held], new: _Held | None, by: int | None) -> None:
        for held in list(old):
            there = self._there(held.values)
            there[:] = [other for other in there if other is not held]
            if held.found is not None:
                self.gone[held.found] = by
            place = held.found if held.found is not None else held.instead
            if new is not None and new.instead is None:
                new.instead = place
        if new is not None:
            self.held.setdefault(identity(self.shape, new.values), []).append(new)

    def _left_by(self, values: Values, given: int) -> _Held | None:
        """What a deleted entry leaves in its place."""
        match self.shape.tombstones:
            case Tombstones.NONE:
                return None
            case Tombstones.MARKED:
                return _Held(values, given=given, marked=True)
            case Tombstones.NULL_VALUE:
                return _Held(self._tombstone(values), given=given)

    def _is_tombstone(self, held: _Held) -> bool:
        if self.shape.tombstones is not Tombstones.NULL_VALUE:
            return held.marked
        return held.values == self._tombstone(held.values)

    def _tombstone(self, values: Values) -> Values:
        key = len(self.shape.indexed) + len(self.shape.suffix)
        return values[:key] + (None,) * (len(values) - key)
