# SPDX-License-Identifier: Apache-2.0
"""Entries beside the rows they lead to, against counting them by hand."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from checks.own_indexes.lockstep import hidden_entries, kinds_of_row, wrong_entries
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.reader import EntryRead, Imbalance, PointerRead, RowPointers

ROWS = st.dictionaries(st.integers(1, 8), st.integers(0, 4), max_size=8)
"""Places of rows, and their keys."""
ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 12), st.booleans()), max_size=14)
"""Keys, the places they lead to, and whether the entry is marked once it was followed."""


def read(key: int) -> EntryRead:
    return EntryRead(key, key, (str(key),))


def surplus(entries: list[int], pointers: list[int]) -> dict[int, int]:
    return dict(Counter(entries) - Counter(pointers))


@given(rows=ROWS, entries=ENTRIES)
def test_every_wrong_entry_is_counted_and_named(
    rows: Mapping[int, int], entries: list[tuple[int, int, bool]]
) -> None:
    walked = [(key, place) for key, place, marked in entries if place in rows or not marked]
    led_to = [place for _, place, _ in entries if place in rows]
    found = list(
        wrong_entries(
            [read(key) for key, _ in walked],
            [PointerRead(rows[place], rows[place], str(place)) for place in led_to],
            surplus([key for key, _ in walked], [rows[place] for place in led_to]),
            len(walked) - len(led_to),
        )
    )
    truly = [key for key, place in walked if rows.get(place) != key]
    rowless = len(walked) - len(led_to)
    assert len(found) >= rowless
    if not rowless or len(truly) == rowless:  # else there may be other explanations
        assert sorted(wrong.entry.digest for wrong in found) == sorted(truly)

    wrong = Counter(int(entry.leads_to.row) for entry in found if entry.leads_to)
    right = Counter(led_to) - wrong
    spare: Counter[int] = Counter()
    for place, key in rows.items():
        spare[key] += right[place] - 1
    before, of_rows = Counter(key for key, _, _ in entries), Counter(rows.values())
    imbalance = {key: Imbalance(before[key] - of_rows[key], None) for key in before | of_rows}
    hidden = hidden_entries(imbalance, spare, Counter(one.entry.digest for one in found))
    marked = [key for key, place, is_marked in entries if place not in rows and is_marked]
    assert Counter(hidden) == Counter(marked)


def test_what_is_wrong_with_a_row() -> None:
    def kinds(is_due: bool, pointers: int, wrong: int) -> list[DefectKind]:
        return kinds_of_row(RowPointers("(0,1)", is_due, pointers, 1), wrong)

    assert kinds(True, 1, 0) == []
    assert kinds(True, 0, 0) == kinds(True, 1, 1) == kinds(True, 2, 2) == [DefectKind.MISSING]
    assert kinds(True, 2, 1) == []
    assert kinds(True, 2, 0) == kinds(True, 4, 1) == [DefectKind.DUPLICATE_ENTRY]
    assert kinds(False, 1, 0) == [DefectKind.DANGLING]
    assert kinds(False, 1, 1) == []
    assert kinds(False, 2, 0) == [DefectKind.DANGLING, DefectKind.DUPLICATE_ENTRY]
