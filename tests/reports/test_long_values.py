# SPDX-License-Identifier: Apache-2.0
"""Text too long to read is truncated in formats for people, with its length; JSON keeps it."""

import json
import time
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reports import FORMATS
from reports.entry_cells import entry_cells, fields
from reports.journals import run_as_text
from reports.repair_records import repair_record
from reports.repairs import repair_as_text, undo_as_text
from reports.truncation import truncate, whole_until
from scrub.app.building.gate import why_not
from scrub.model.defect import Defect, DefectKind
from scrub.model.journal import JournalRecord, RunRecord, UndoneChange, UndoReport
from scrub.model.repair import (
    Action,
    ActionKind,
    ActionOutcome,
    DoneAction,
    Refusal,
    RepairPlan,
    RepairReport,
)
from scrub.model.result import RunResult, Status
from tests.reports.results import STARTED, a_check, a_defect, a_run, a_table

FOR_PEOPLE = ("text", "markdown", "junit", "sarif", "gitlab", "github")
FOR_PROGRAMS = ("json", "jsonl")
LONG = "x" * 1_048_576
ENTRY = {"customer_id": 4, "id": 17, "note": LONG}
PEOPLE_MAX = 200_000  # bytes of a whole report


def a_long_defect(number: int) -> Defect:
    return a_defect(
        primary_key={"id": number, "name": LONG},
        index_key={"note": LONG + str(number)},
        expected={"note": LONG + "1"},
        actual={"note": LONG + "2"},
        detail=f"it says {LONG}",
    )


@pytest.fixture(scope="module")
def long_result() -> RunResult:
    outcome = a_check(
        "by_customer",
        Status.DEFECTIVE,
        counts={DefectKind.WRONG_STORED_VALUE: 54},
        reason=f"an expression raises for the row {LONG}",
        notes=(LONG,),
    )
    return a_run(a_table(outcome), defects=tuple(map(a_long_defect, range(54))))


@pytest.mark.parametrize("report_format", FOR_PEOPLE)
def test_a_report_for_people_stays_short(report_format: str, long_result: RunResult) -> None:
    began = time.monotonic()
    rendered = FORMATS[report_format](long_result)
    assert len(rendered) < PEOPLE_MAX
    assert "(1,048,576 characters)" in rendered
    assert time.monotonic() - began < 20, "long values are not looked at character by character"


@pytest.mark.parametrize("report_format", FOR_PROGRAMS)
def test_a_report_for_programs_keeps_everything(report_format: str, long_result: RunResult) -> None:
    few = replace(long_result, defects=long_result.defects[:3])
    rendered = FORMATS[report_format](few)
    assert rendered.count(LONG) >= 3 * 4
    assert "characters)" not in rendered
    assert json.loads(rendered.splitlines()[-1] if report_format == "jsonl" else rendered)


def test_a_value_is_shown_from_where_it_differs() -> None:
    expected, actual = entry_cells(a_long_defect(1))
    assert expected == f"note=...'{'x' * 20}1' (1,048,577 characters)"
    assert actual == f"note=...'{'x' * 20}2' (1,048,577 characters)"


def test_a_key_is_whole_as_long_as_it_can_be_read() -> None:
    assert fields({"k": "y" * 200}) == f"k='{'y' * 200}'"
    assert fields({"k": "y" * 201}) == f"k='{'y' * 200}'... (201 characters)"


def test_a_key_of_bytes_is_cut_too() -> None:
    defect = a_defect(
        DefectKind.INVALID_ENCODING, primary_key=None, index_key=None, key_hex="ab" * 1_000_000
    )
    result = a_run(a_table(a_check("by_customer")), defects=(defect,))
    for report_format in FOR_PEOPLE:
        rendered = FORMATS[report_format](result)
        assert len(rendered) < PEOPLE_MAX
    assert "... (1,000,000 bytes)" in FORMATS["text"](result)


def test_of_very_many_columns_some_are_shown() -> None:
    shown = fields({f"column_{number}": number for number in range(5_000)})
    assert shown.startswith("column_0=0, column_1=1, ")
    assert shown.endswith(" more columns")
    assert len(shown) < 1_000


def a_long_repair(outcome: ActionOutcome | None) -> RepairReport:
    place: dict[str, Any] = {"table": "orders", "index": "by_customer", "primary_key": {"id": LONG}}
    of: dict[str, Any] = {"defect": "d", "defect_kind": DefectKind.MISSING, **place}
    action = Action(kind=ActionKind.PUT, before=ENTRY, after=ENTRY, **of)
    refusal = Refusal(reason=LONG, remedy="look", **of)
    return RepairReport(
        table="orders",
        plan=RepairPlan((action,) * 30, (refusal,) * 5),
        before=None,
        done=(DoneAction(action, outcome, True, LONG),) * 30 if outcome else (),
    )


@pytest.mark.parametrize("outcome", [None, ActionOutcome.REFUSED])
def test_repairs_are_cut_for_people_and_kept_for_programs(outcome: ActionOutcome | None) -> None:
    report = a_long_repair(outcome)
    told = repair_as_text(report)
    assert len(told) < PEOPLE_MAX
    assert "(1,048,576 characters)" in told
    assert repair_record(report)["actions"][0]["after"]["note"] == LONG


def test_the_journal_and_an_undo_are_cut() -> None:
    change = JournalRecord(
        run="r",
        number=0,
        index="by_customer",
        kind=ActionKind.REPLACE,
        defect="d",
        primary_key={"id": LONG},
        before=ENTRY,
        after=ENTRY,
    )
    undone = UndoneChange(
        index="by_customer",
        kind=ActionKind.PUT,
        primary_key={"id": LONG},
        outcome=ActionOutcome.CONFLICT,
        reason=LONG,
    )
    report = UndoReport(of="r", table="orders", started=STARTED, changes=(change,) * 30)
    done = UndoReport(
        of="r", table="orders", started=STARTED, changes=(change,), run="u", done=(undone,) * 30
    )
    run = RunRecord(run="r", command="repair", table="orders", started=STARTED, finished=STARTED)

    for told in (undo_as_text(report), undo_as_text(done), run_as_text(run, [change] * 30)):
        assert len(told) < PEOPLE_MAX
        assert "(1,048,576 characters)" in told


def test_a_refused_publication_is_cut(long_result: RunResult) -> None:
    told = why_not(long_result)
    assert told is not None
    assert len(told) < PEOPLE_MAX


# Where it is truncated

MARKS = st.sampled_from(["e\u0301", "a", "\ud83d\ude00", "\U0001f468\u200d\U0001f469", "\u0301"])


@given(st.lists(MARKS, min_size=1, max_size=60).map("".join), st.integers(1, 100))
@example("\ud83d\ude00", 1)
@example("e\u0301", 1)
def test_no_character_is_parted_from_its_marks(text: str, end: int) -> None:
    place = whole_until(text, end)
    assert end - 16 <= place <= end
    if 0 < place < len(text) and place != end:
        assert not unicodedata.combining(text[place])
        assert not ("\ud800" <= text[place - 1] <= "\udbff" and "\udc00" <= text[place] <= "\udfff")


def test_marks_without_end_are_cut_all_the_same() -> None:
    assert truncate("e" + "\u0301" * 5_000, 100).endswith("... (5,001 characters)")


@pytest.mark.parametrize("report_format", FOR_PEOPLE)
def test_what_is_cut_stays_in_its_place(report_format: str) -> None:
    """Escaping comes after truncation, so that no half of a spelled-out character is left."""
    hostile = "\u202e\x1b[31m|\n" * 10_000
    defect = a_defect(
        primary_key={"id": hostile}, expected={"v": hostile + "1"}, actual={"v": hostile + "2"}
    )
    rendered = FORMATS[report_format](
        a_run(a_table(a_check("by_customer", reason=hostile)), defects=(defect,))
    )
    assert "\u202e" not in rendered
    assert "\x1b" not in rendered
    assert len(rendered) < PEOPLE_MAX
