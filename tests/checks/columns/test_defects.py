# SPDX-License-Identifier: Apache-2.0
"""Rows of the merge join in the words of the model; no Spark is needed."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Row

from checks.columns.defects import to_defect
from checks.numbering import Slot
from scrub.model.defect import Defect, DefectKind
from scrub.model.table import EntryColumn
from scrub.model.types import ColumnType, TypeName
from tests.checks.plans import a_plan, numbered


def a_slot() -> Slot:
    """An index by customer that stores a text."""
    (slot,), _, _ = numbered(a_plan("by_customer"))
    stored = EntryColumn(name="note", source="note", type=ColumnType(TypeName.STRING))
    return replace(slot, plan=replace(slot.plan, index=replace(slot.index, stored=(stored,))))


def a_defect(**told: Any) -> Defect:
    row = {
        "kind": DefectKind.WRONG_STORED_VALUE.value,
        "primary_key": ["7"],
        "index_key": ["3"],
        "expected": ["new"],
        "actual": [None],
        "expected_copies": 1,
        "actual_copies": 1,
    }
    return to_defect(Row(**(row | told)), a_slot())


def test_an_entry_is_its_key_its_row_and_what_it_stores() -> None:
    defect = a_defect()
    assert (defect.table, defect.index) == ("orders", "by_customer")
    assert (defect.primary_key, defect.index_key) == ({"id": 7}, {"customer": 3})
    assert list((defect.expected or {}).items()) == [("customer", 3), ("id", 7), ("note", "new")]
    assert defect.actual == {"customer": 3, "id": 7, "note": None}


def test_a_side_that_has_no_entry_is_none() -> None:
    assert a_defect(expected=None).expected is None
    assert a_defect(actual=None).actual is None


def test_a_key_can_be_null() -> None:
    assert a_defect(index_key=[None]).index_key == {"customer": None}


def test_both_snapshots_are_told() -> None:
    assert a_defect().snapshot == "version 1; by_customer: version 1"


@pytest.mark.parametrize(
    ("kind", "expected", "actual", "detail"),
    [
        (DefectKind.MISSING, 1, 0, ""),
        (DefectKind.DANGLING, 0, 1, ""),
        (DefectKind.WRONG_STORED_VALUE, 1, 1, ""),
        (DefectKind.DUPLICATE_ENTRY, 1, 2, "1 row, 2 entries"),
        (DefectKind.DUPLICATE_ENTRY, 0, 2, "0 rows, 2 entries"),
        (DefectKind.DUPLICATE_KEY, 2, 1, "2 rows, 1 entry"),
        (DefectKind.UNIQUE_VIOLATION, 2, 2, "another row has the same index key"),
    ],
)
def test_the_detail_tells_how_many_there_are_where_it_is_not_one(
    kind: DefectKind, expected: int, actual: int, detail: str
) -> None:
    defect = a_defect(kind=kind.value, expected_copies=expected, actual_copies=actual)
    assert (defect.kind, defect.detail) == (kind, detail)
