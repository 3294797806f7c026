# SPDX-License-Identifier: Apache-2.0
"""Workflow commands stay commands of ours, few enough to be shown, and summaries fit."""

import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.as_github import COMMANDS_MAX, SUMMARY_BYTES_MAX, render, render_summary
from reports.context import CatalogPlaces, ReportContext
from scrub.model.result import RunResult, Status
from tests.reports.many import many_defects
from tests.reports.results import RESULTS, a_check, a_defect, a_run, a_table
from tests.reports.verdicts import forgiven, judged, judged_result

COMMAND = re.compile(r"::(error|warning|notice) file=([^:,]+),line=(\d+),title=([^:,]+)::(.*)")
HOSTILE = st.sampled_from(
    ["\n::set-output name=x::y", "%0A::error::z", "\r\n::add-mask::a", "a,b:c", "|", "<script>"]
) | st.text(st.characters(exclude_categories=()))


def commands(rendered: str) -> list[re.Match[str]]:
    found = [COMMAND.fullmatch(line) for line in rendered.split("\n") if line.startswith("::")]
    assert all(found), rendered
    return [match for match in found if match]


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("context", [ReportContext(), judged()], ids=["check", "gate"])
def test_every_line_is_a_command_but_the_last(
    make: Callable[[], RunResult], context: ReportContext
) -> None:
    rendered = render(make(), context=context)
    lines = rendered.splitlines()
    assert len(commands(rendered)) == len(lines) - 1
    assert "exit code" in lines[-1]


@given(text=HOSTILE)
def test_no_value_ends_its_command_or_begins_another(text: str) -> None:
    defect = a_defect(table=text, primary_key={text: text}, detail=text)
    check = a_check(text, Status.DEFECTIVE, reason=text)
    context = ReportContext(places=CatalogPlaces(file=f"x{text}"))
    rendered = render(a_run(a_table(check, table=text), defects=(defect,)), context=context)
    assert len(commands(rendered)) == 2
    assert rendered.count("\n") == 3
    assert not re.search(r"%(?!25|0D|0A|3A|2C)", rendered)


def test_values_are_escaped_as_github_reads_them() -> None:
    defect = a_defect(detail="50% of 1,2: all")
    context = ReportContext(places=CatalogPlaces(file="a,b:c%.yaml"))
    (command,) = commands(render(a_run(a_table(a_check("i")), defects=(defect,)), context=context))
    assert command[2] == "a%2Cb%3Ac%25.yaml"
    assert unquote(command[2]) == "a,b:c%.yaml"
    assert command[5].endswith("50%25 of 1,2: all")


@pytest.mark.parametrize("number", [9, 10, 11, 5_001])
def test_at_most_ten_commands(number: int) -> None:
    found = commands(render(many_defects(number)))
    assert len(found) == min(number, COMMANDS_MAX)
    told = found[-1][5]
    assert ("more remarks" in told) == (number > COMMANDS_MAX)
    if number > COMMANDS_MAX:
        assert told.startswith(f"{number - 9:,} more")


def test_what_was_not_looked_at_is_not_pushed_out_by_defects() -> None:
    many = many_defects(50)
    unread = a_check("by_email", Status.INCOMPLETE, reason="it is gone")
    (table,) = many.tables
    result = replace(many, tables=(replace(table, checks=(*table.checks, unread)),))
    assert "incomplete: it is gone" in commands(render(result))[0][5]


def test_known_defects_are_no_annotations() -> None:
    found = [match[0] for match in commands(render(judged_result(), context=judged()))]
    kinds = [line for line in found if "wrong_stored_value" in line or "check_violation" in line]
    assert len(kinds) == 2, "the new one and the changed one"
    passed = render(judged_result(), context=ReportContext(verdict=forgiven()))
    assert "::error" not in passed


def test_a_summary_fits_and_says_how_much_it_shows() -> None:
    result = many_defects(5_001)
    whole = render_summary(result, bytes_max=1 << 30)
    assert whole.count("wrong_stored_value |") > 5_000
    cut = render_summary(result, bytes_max=50_000)
    assert len(cut.encode()) <= 50_000
    assert re.search(r"showing \d+ of 5,001 defects", cut)


def test_a_summary_without_room_is_cut_between_lines() -> None:
    cut = render_summary(RESULTS["defective"](), bytes_max=300)
    assert len(cut.encode()) <= 300
    assert cut.endswith("does not fit into the summary of a step.*\n")
    assert render_summary(RESULTS["defective"](), bytes_max=0) == ""
    assert SUMMARY_BYTES_MAX == 1024 * 1024
