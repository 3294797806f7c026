# SPDX-License-Identifier: Apache-2.0
"""Naming what is wrong with few entries of pairs, which are held here.

It finds what `checks.pairs.entries` finds in Spark, and names it alike.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from checks.columns.held_join import HeldEntries, differences
from checks.named_defects import HeldDefect
from checks.pairs.plan import BINARY, PAIR_INDEX, PAIR_TABLE
from scrub.codec.kv.sides import ACTUAL, DOUBTFUL, EXPECTED, PARTIAL
from scrub.model.defect import DefectKind
from scrub.model.table import Index

_FIRST_FAMILY = b"\x88"  # what keys of the pairs of the first family end with, which tell the row


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry, by what it is known by."""

    side: int
    key: bytes
    value: bytes
    row: bytes

    @property
    def tells_its_row(self) -> bool:
        return self.key.endswith(_FIRST_FAMILY)


@dataclass(frozen=True, slots=True)
class HeldNaming:
    """What is wrong with the entries of one index, and which rows share keys."""

    defects: tuple[HeldDefect, ...]
    doubted: tuple[HeldDefect, ...]  # differences of rows that lack a pair
    sharing: tuple[HeldDefect, ...]


def name_held(
    entries: pa.Table,
    index: Index,
    slot: int,
    *,
    doubtful: bool,
    copied: Collection[bytes],
    partial: bool,
) -> HeldNaming:
    """Name what disagrees among entries of an index, given as ENTRY_SCHEMA.

    See `checks.pairs.entries.told_apart` for what proves nothing.
    """
    found = [_Entry(e["side"], e["key"], e["value"], e["row"]) for e in entries.to_pylist()]
    if doubtful:
        of_doubt = {entry.row for entry in found if entry.side >= DOUBTFUL} | set(copied)
        found = [entry for entry in found if entry.row not in of_doubt]
    lacking = {entry.row for entry in found if entry.side == PARTIAL} if partial else set()
    decided = [entry for entry in found if entry.row not in lacking]
    doubted = [entry for entry in found if entry.row in lacking]
    return HeldNaming(
        tuple(_differences(decided, index, slot)),
        tuple(_differences(doubted, index, slot)),
        tuple(_sharing(_expected(decided), slot)) if index.unique else (),
    )


def _expected(entries: Iterable[_Entry]) -> list[_Entry]:
    return [entry for entry in entries if entry.side in (EXPECTED, PARTIAL)]


def _differences(entries: Sequence[_Entry], index: Index, slot: int) -> Iterator[HeldDefect]:
    expected, actual = _expected(entries), [e for e in entries if e.side == ACTUAL]
    clashing = _clashing(expected, actual) if index.unique else ()
    rows, there = _held(expected, index), _held(actual, index)
    for defect in differences(rows, there, PAIR_TABLE, PAIR_INDEX, slot):
        # What follows from several rows asking for one entry, which one of them has, is named so.
        is_late = defect["kind"] == DefectKind.MISSING and defect["primary_key"][0] in clashing
        if not is_late:
            yield defect


def _held(entries: Sequence[_Entry], index: Index) -> HeldEntries:
    columns = [
        [entry.key for entry in entries],
        [_owner(entry) if index.unique else entry.row for entry in entries],
        [entry.value for entry in entries],
    ]
    arrays = [pa.chunked_array([pa.array(column, pa.binary())]) for column in columns]
    return HeldEntries(pa.table(arrays, ["0", "1", "2"]), PAIR_INDEX, [BINARY] * len(columns))


def _owner(entry: _Entry) -> bytes:
    """Only the entry of the first family tells its row."""
    return entry.row if entry.tells_its_row else b""


def _clashing(expected: Iterable[_Entry], actual: Iterable[_Entry]) -> set[str]:
    """Keys that several rows ask for, of which one has its entry."""
    owners = defaultdict(set)
    for entry in expected:
        owners[entry.key].add(_owner(entry))
    there = {(entry.key, _owner(entry)) for entry in actual}
    return {
        key.hex()
        for key, of_key in owners.items()
        if len(of_key) > 1 and any((key, owner) in there for owner in of_key)
    }


def _sharing(expected: Iterable[_Entry], slot: int) -> Iterator[HeldDefect]:
    """Rows that ask for the same entry, each of them once."""
    rows: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
    for entry in expected:
        if entry.tells_its_row:
            rows[entry.key].setdefault(entry.row, entry.value)
    for key, of_key in rows.items():
        if len(of_key) < 2:  # noqa: PLR2004 - one row shares its key with nobody
            continue
        for row, value in of_key.items():
            yield {
                "slot": slot,
                "kind": DefectKind.UNIQUE_VIOLATION.value,
                "expected_copies": 1,
                "actual_copies": 1,
                "primary_key": [key.hex(), row.hex()],
                "index_key": [key.hex()],
                "expected": [value.hex()],
                "actual": None,
            }
