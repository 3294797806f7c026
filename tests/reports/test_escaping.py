# SPDX-License-Identifier: Apache-2.0
import ast
import html
import json
import re
import unicodedata
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import FORMATS
from reports.context import CatalogPlaces, ReportContext
from reports.escaping import (
    column_name,
    json_ready,
    markdown,
    printable,
    printable_line,
    value_literal,
)
from scrub.model.result import Status
from tests.reports.results import a_check, a_defect, a_run, a_table
from tests.reports.verdicts import hostile_verdict

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
VALUES = st.one_of(ANY_TEXT, st.integers(), st.floats(), st.booleans(), st.none())


@given(ANY_TEXT)
def test_printable_text_can_be_written_and_moves_nothing(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ASCII, Ünïcode, 日本", "plain ASCII, Ünïcode, 日本"),
        ("\x1b[2J", r"\x1b[2J"),
        ("two\nlines\r\t", r"two\nlines\r\t"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\ud800", r"\ud800"),
        ("zero\u200bwidth and no-break\xa0space", r"zero\u200bwidth and no-break\xa0space"),
    ],
)
def test_printable_spells_out_what_a_terminal_would_act_on(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_a_quoted_string_says_exactly_what_the_value_is(text: str) -> None:
    assert ast.literal_eval(value_literal(text)) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "NULL"), ("NULL", "'NULL'"), (True, "true"), (1, "1"), ("1", "'1'"), (-0.5, "-0.5")],
)
def test_values_of_different_type_look_different(value: str | float | None, shown: str) -> None:
    assert value_literal(value) == shown


def test_names_are_quoted_where_they_need_it() -> None:
    assert column_name("customer_id") == "customer_id"
    assert column_name("order id") == "`order id`"
    assert column_name("a`b\n") == r"`a``b\n`"


@given(ANY_TEXT)
def test_markdown_holds_no_markup_and_reads_as_the_text(text: str) -> None:
    escaped = markdown(text)
    assert html.unescape(escaped) == printable(text)
    assert not re.search(r"[<>|`*\[\]\\~@$]|&(?!#\d+;)", escaped)


@given(st.floats())
def test_json_values_are_never_bare_nan(value: float) -> None:
    json.dumps(json_ready(value), allow_nan=False)


@given(text=ANY_TEXT, value=VALUES)
def test_no_data_escapes_its_place_in_any_report(text: str, value: str | float | None) -> None:
    defect = a_defect(
        table=text,
        index=text,
        primary_key={text: value},
        index_key={"k": text},
        expected={"k": text, "v": value},
        actual={"k": text, "v": text},
        detail=text,
    )
    check = a_check(text, Status.DEFECTIVE, reason=text, notes=(text,), snapshot=text)
    run = a_run(a_table(check, table=text), defects=(defect,))
    for name, render in FORMATS.items():
        rendered = render(run)
        assert rendered.replace("\n", "").isprintable()
        rendered.encode("utf-8")
        if name == "json":
            (found,) = json.loads(rendered, parse_constant=pytest.fail)["defects"]
            assert found["index_key"] == {"k": text}
        if name == "jsonl":
            kinds = [json.loads(line)["type"] for line in rendered.splitlines()]
            assert kinds == ["run", "check", "defect"]
        if name == "junit":
            (case,) = ET.fromstring(rendered).iter("testcase")
            assert case.get("classname") == printable(text)
        if name == "markdown":
            assert {line.count("|") for line in rendered.splitlines()} <= {0, 7, 8}


@given(text=ANY_TEXT)
def test_no_word_of_a_verdict_escapes_its_place_in_any_report(text: str) -> None:
    defect = a_defect(constraint=text)
    check = a_check("by_customer", Status.DEFECTIVE, counts={defect.kind: 1})
    run = a_run(a_table(replace(check, constraint=text)), defects=(defect,))
    as_listed = text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    places = CatalogPlaces(file=f"scrub{as_listed}")  # as Python lists a file of these bytes
    context = ReportContext(verdict=hostile_verdict(defect, text), places=places)
    for name, render in FORMATS.items():
        rendered = render(run, context=context)
        assert rendered.replace("\n", "").isprintable(), name
        rendered.encode("utf-8")
        if name == "json":
            (found,) = json.loads(rendered)["defects"]
            assert found["waiver"]["reason"] == text
            assert json.loads(rendered)["gate"]["reasons"] == [text]
        if name == "junit":
            assert len(list(ET.fromstring(rendered).iter("testcase"))) == 2
        if name == "markdown":
            assert {line.count("|") for line in rendered.splitlines()} <= {0, 7, 8, 9, 10}
        if name == "github":
            assert rendered.count("\n") == rendered.count("\n::") + 2


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("begin", ["##[", "##vso[", "###teamcity["])
def test_no_value_is_a_command_for_the_ci_system_that_keeps_the_log(name: str, begin: str) -> None:
    """GitHub's runner and Azure's agent look for these anywhere in a line, not at its beginning."""
    text = f"{begin}task.setvariable variable=PATH]x"
    defect = a_defect(
        primary_key={text: text}, expected={"v": text}, actual={"v": None}, detail=text
    )
    check = a_check(text, Status.DEFECTIVE, counts={defect.kind: 1}, reason=text, notes=(text,))
    run = a_run(a_table(check), defects=(defect,))
    rendered = FORMATS[name](run, context=ReportContext(verdict=hostile_verdict(defect, text)))
    assert begin not in rendered
    assert "task.setvariable" in rendered
    if name == "json":
        assert json.loads(rendered)["defects"][0]["primary_key"] == {text: text}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        (" \t::add-mask::a", r" \t\x3a:add-mask::a"),
        ("a ::1", "a ::1"),
        ("# ## [x] #[y]", "# ## [x] #[y]"),
        ("##[group]", r"#\x23[group]"),
    ],
)
def test_no_line_is_a_command_for_the_ci_system_that_keeps_the_log(text: str, shown: str) -> None:
    assert printable_line(text) == shown
