# SPDX-License-Identifier: Apache-2.0
"""`--redact` shows keys and the names of differing columns, but no other values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import FORMATS
from reports.as_jsonl import defect_line
from reports.redaction import redact_defect
from scrub.model.defect import Defect, DefectKind
from scrub.model.result import Status
from tests.reports.results import a_check, a_defect, a_run, a_table

# Words that cannot occur in a report by themselves.
SECRETS = st.integers(min_value=0).map(lambda number: f"secret{number}zz")
ENTRIES = st.none() | st.fixed_dictionaries({"id": st.just(17), "a": SECRETS, "b": SECRETS})


@st.composite
def defects(draw: st.DrawFn) -> Defect:
    return a_defect(
        draw(st.sampled_from(DefectKind)),
        primary_key={"id": 17},
        index_key={"email": "key@example.org", "id": 17},
        expected=draw(ENTRIES),
        actual=draw(ENTRIES),
        detail=draw(SECRETS),
        value_hex=draw(SECRETS),
    )


@pytest.mark.parametrize("report_format", FORMATS)
@given(defect=defects())
def test_no_value_but_keys_appears_in_any_format(report_format: str, defect: Defect) -> None:
    check = a_check("by_email", Status.DEFECTIVE, counts={defect.kind: 1})
    rendered = FORMATS[report_format](a_run(a_table(check), defects=(defect,)), redact=True)
    assert "secret" not in rendered
    assert "key@example.org" in rendered.replace("&#64;", "@")
    for name in defect.differing_columns:
        assert f"{name}=" in rendered or f'"{name}"' in rendered


@given(defects())
def test_a_line_of_all_defects_is_redacted_too(defect: Defect) -> None:
    assert "secret" not in defect_line(defect, redact=True)


@given(defects())
def test_identity_and_differing_columns_survive(defect: Defect) -> None:
    redacted = redact_defect(defect)
    assert redacted.id == defect.id
    assert redacted.differing_columns == defect.differing_columns


def test_the_key_of_the_other_side_is_a_value_too() -> None:
    defect = a_defect(
        index_key={"email": "shown@example.org"},
        expected={"email": "secret@example.org"},
        actual={"email": "shown@example.org"},
    )
    redacted = redact_defect(defect)
    assert redacted.expected == {"email": "[redacted]"}
    assert redacted.actual == {"email": "shown@example.org"}
