# SPDX-License-Identifier: Apache-2.0
"""Named defects that are held on the driver: counted, put in order, shown; no Spark is needed."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import Row

from checks.named_defects import HeldDefect, NamedDefects, as_counts, count
from checks.shown_defects import ShownDefects
from scrub.model.defect import DefectKind
from tests.reports.results import a_defect

MISSING, DANGLING = DefectKind.MISSING.value, DefectKind.DANGLING.value


class NoJobs:
    """Fails whatever is asked of Spark."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a job for what is held: {name}")


def a_row(slot: int, kind: str, *key: str | None, entry: str | None = "e") -> Row:
    return Row(slot=slot, kind=kind, primary_key=list(key), index_key=[entry])


def held(*rows: Row) -> NamedDefects:
    return NamedDefects.holding(rows)


def shown(limit: int, on_defect: Any = None) -> ShownDefects:
    jobs: Any = NoJobs()
    return ShownDefects(limit=limit, on_defect=on_defect, jobs=jobs)


def keys_of(rows: Sequence[HeldDefect]) -> list[Any]:
    return [row["primary_key"] for row in rows]


def test_counts_that_come_in_pieces_are_added_up() -> None:
    pieces = [(0, MISSING, 2), (1, MISSING, 1), (0, MISSING, 3), (0, DANGLING, 1)]
    assert as_counts(pieces) == {
        0: {DefectKind.MISSING: 5, DefectKind.DANGLING: 1},
        1: {DefectKind.MISSING: 1},
    }


def test_what_is_held_is_counted_without_a_job() -> None:
    jobs: Any = NoJobs()
    defects = held(a_row(0, MISSING, "1"), a_row(2, DANGLING, "1"), a_row(0, MISSING, "2"))
    assert count(defects, jobs) == {0: {DefectKind.MISSING: 2}, 2: {DefectKind.DANGLING: 1}}


def test_slots_come_first_then_kinds_then_keys() -> None:
    rows = [a_row(1, DANGLING, "1"), a_row(0, MISSING, "3"), a_row(0, DANGLING, "4")]
    rows += [a_row(0, DANGLING, "2")]
    assert keys_of(held(*rows).held_in_order(None)) == [["2"], ["4"], ["3"], ["1"]]
    assert keys_of(held(*rows).held_in_order(2)) == [["2"], ["4"]]


def test_null_comes_before_the_empty_text() -> None:
    rows = [a_row(0, MISSING, "", "b"), a_row(0, MISSING, None, "c"), a_row(0, MISSING, "", None)]
    assert keys_of(held(*rows).held_in_order(None)) == [[None, "c"], ["", None], ["", "b"]]


def test_rows_of_one_key_are_in_the_order_of_their_entries() -> None:
    rows = [a_row(0, MISSING, "1", entry="b"), a_row(0, MISSING, "1", entry=None)]
    assert [row["index_key"] for row in held(*rows).held_in_order(None)] == [[None], ["b"]]


def test_what_is_decided_differs_from_index_to_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checks.named_defects._without", lambda frame, _: frame)
    defects = held(a_row(0, MISSING, "1"), a_row(0, DANGLING, "2"), a_row(1, MISSING, "3"))
    decided = defects.decided({0: frozenset({DefectKind.MISSING}), 1: frozenset()})
    assert keys_of(list(decided.held or ())) == [["2"], ["3"]]


def test_as_many_are_shown_as_there_is_room_for() -> None:
    some = shown(limit=3)
    some.add([a_defect(DefectKind.MISSING)])
    some.add_named(held(*(a_row(0, MISSING, str(n)) for n in range(5))), lambda row: row)
    assert keys_of(some.defects[1:]) == [["0"], ["1"]]
    assert (some.room, some.wanted) == (0, 0)


def test_who_asks_for_every_defect_gets_them_whatever_the_limit() -> None:
    every: list[Row] = []
    some = shown(limit=1, on_defect=every.append)
    assert some.wanted is None
    some.add_named(held(a_row(0, MISSING, "2"), a_row(0, MISSING, "1")), lambda row: row)
    assert keys_of(every) == [["1"], ["2"]]
    assert keys_of(some.defects) == [["1"]]
