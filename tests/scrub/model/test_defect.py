# SPDX-License-Identifier: Apache-2.0
"""What identifies a defect, and what tells that something else is wrong there."""

from dataclasses import replace
from typing import Any

import pytest

from scrub.model.defect import Defect, DefectKind, same_content


def a_defect(kind: DefectKind = DefectKind.WRONG_STORED_VALUE, **given: Any) -> Defect:
    fields: dict[str, Any] = {
        "table": "orders",
        "index": "by_email",
        "primary_key": {"id": 7},
        "index_key": {"email": "a@x"},
        "expected": {"email": "a@x", "id": 7, "status": "open"},
        "actual": {"email": "a@x", "id": 7, "status": "shut"},
        "snapshot": "version 3",
    }
    return Defect(kind=kind, **{**fields, **given})


PAIR = {"primary_key": None, "index_key": None, "expected": None, "actual": None, "key_hex": "bd89"}


@pytest.mark.parametrize(
    ("defect", "identity"),
    [
        (a_defect(), "77f815687d7176cf"),
        (a_defect(DefectKind.MISSING, actual=None), "869be9921f4c5018"),
        (a_defect(DefectKind.DANGLING, expected=None, primary_key={"id": "ä"}), "2056cfa8b1a20bd5"),
        (a_defect(DefectKind.INVALID_ENCODING, **PAIR), "c935a0b2a40db4f2"),
        (a_defect(DefectKind.NULL_VIOLATION, index=None, column="email"), "1e2073c483cfadce"),
        (a_defect(DefectKind.CHECK_VIOLATION, index=None, constraint="paid"), "3a0d7eadd75a06f3"),
    ],
)
def test_an_id_stays_what_it_is(defect: Defect, identity: str) -> None:
    """Waivers and baselines hold ids: these may never change."""
    assert defect.id == identity


def test_two_broken_constraints_of_a_row_are_two_defects() -> None:
    one = a_defect(DefectKind.CHECK_VIOLATION, index=None, constraint="paid")
    assert one.id != replace(one, constraint="shipped").id


def test_a_fault_of_a_file_is_identified_by_column_and_stored_type() -> None:
    fault = a_defect(
        DefectKind.INVALID_ENCODING,
        index=None,
        primary_key=None,
        column="email",
        file="part-1.parquet",
        stored_type="bigint",
    )
    assert replace(fault, file="part-2.parquet", detail="elsewhere").id == fault.id
    assert replace(fault, stored_type="date").id != fault.id
    assert replace(fault, column="status").id != fault.id


def test_a_row_without_a_key_is_identified_by_its_digest() -> None:
    row = a_defect(
        DefectKind.NULL_VIOLATION,
        index=None,
        primary_key={"id": None},
        column="id",
        file="part-1.parquet, row 4",
        row_digest="aa",
    )
    assert replace(row, file="part-2.parquet, row 1").id == row.id
    assert replace(row, row_digest="bb").id != row.id


@pytest.mark.parametrize(
    "other",
    [
        {"actual": {"email": "a@x", "id": 7, "status": "lost"}},
        {"expected": {"email": "a@x", "id": 7, "status": "new"}},
        {"value_hex": "00"},
        {"kind": DefectKind.DUPLICATE_ENTRY},
    ],
)
def test_content_tells_that_something_else_is_wrong(other: dict[str, Any]) -> None:
    assert not same_content(a_defect(**other).content("salt"), a_defect().content("salt"))


def test_content_does_not_depend_on_the_order_of_columns_nor_on_the_snapshot() -> None:
    defect = a_defect()
    assert defect.expected is not None
    assert defect.actual is not None
    reordered = replace(
        defect,
        expected=dict(reversed(defect.expected.items())),
        actual=dict(reversed(defect.actual.items())),
        snapshot="version 9",
        detail="other words",
    )
    assert reordered.content("salt") == defect.content("salt")
    assert reordered.id == defect.id


def test_content_is_salted() -> None:
    one, other = (a_defect().content(salt).split(".") for salt in ("a", "b"))
    assert not set(one) & set(other)


def test_content_of_names_only_agrees_with_the_whole_one_as_far_as_it_tells() -> None:
    whole, names = a_defect().content("s"), a_defect().content("s", names_only=True)
    assert same_content(whole, names)
    assert same_content(names, whole)
    other_value = a_defect(actual={"email": "a@x", "id": 7, "status": "lost"})
    assert same_content(other_value.content("s"), names)
    other_column = a_defect(actual={"email": "a@x", "id": 8, "status": "open"})
    assert not same_content(other_column.content("s"), names)
