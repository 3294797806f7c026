# SPDX-License-Identifier: Apache-2.0
"""What fits a terminal and what does not; SCRUB_WRITE_SNAPSHOTS=1 writes the screens."""

import os
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import as_text
from reports.context import ReportContext
from reports.display_width import cut, display_width, padded, parted
from reports.fitting import fitted
from reports.grids import Grid
from reports.journals import runs_as_text
from reports.repairs import repair_as_text
from reports.screen import PAPER, Screen
from reports.shell_lines import VERBS
from reports.wrapping import wrapped
from scrub.cli.main import COMMANDS
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.reports.results import HOSTILE, a_check, a_defect, a_run, a_table
from tests.reports.views import REPAIR, RUNS, VIEWS, WIDE

SCREENS = Path(__file__).parent / "screens"
KINDS = {
    "paper": PAPER,
    **{str(width): Screen(width=width) for width in (80, 100, 200)},
    "80-colours": Screen(width=80, colour=True),
}
COLOURS = re.compile(r"\x1b\[\d+m")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VIEWS)
def test_a_screen(name: str, kind: str) -> None:
    rendered = VIEWS[name](KINDS[kind]).replace("\x1b", "<ESC>")
    path = SCREENS / f"{name}.{kind}"
    if os.environ.get("SCRUB_WRITE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(rendered, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing; look at it, then SCRUB_WRITE_SNAPSHOTS=1"
    assert rendered == path.read_text(encoding="utf-8")


def test_no_screen_is_left_over() -> None:
    wanted = {f"{name}.{kind}" for name in VIEWS for kind in KINDS}
    assert {path.name for path in SCREENS.iterdir()} == wanted


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_no_line_is_wider_than_the_screen(name: str, colour: bool) -> None:
    for width in (40, *range(80, 241, 7)):
        rendered = VIEWS[name](Screen(width=width, colour=colour))
        assert max(map(display_width, rendered.split("\n"))) <= width


@pytest.mark.parametrize("name", VIEWS)
def test_colours_say_nothing_that_words_do_not(name: str) -> None:
    for width in (None, 80, 200):
        with_colours = VIEWS[name](Screen(width=width, colour=True))
        assert COLOURS.sub("", with_colours) == VIEWS[name](Screen(width=width))


VALUES = st.none() | st.integers() | st.text(max_size=90) | st.sampled_from([WIDE, HOSTILE])
NAMES = st.text(min_size=1, max_size=60) | st.sampled_from(["id", "customer_id", "note"])
ENTRIES = st.dictionaries(NAMES, VALUES, max_size=4)
DEFECTS = st.builds(
    a_defect,
    st.sampled_from(DefectKind),
    table=NAMES,
    index=st.none() | NAMES,
    constraint=st.none() | NAMES,
    primary_key=st.none() | ENTRIES,
    index_key=st.none() | ENTRIES,
    expected=st.none() | ENTRIES,
    actual=st.none() | ENTRIES,
    detail=st.text(max_size=200),
)
SCREEN = st.builds(Screen, width=st.integers(80, 220), colour=st.booleans())


def fits(rendered: str, screen: Screen) -> bool:
    assert screen.width is not None
    return max(map(display_width, rendered.split("\n"))) <= screen.width


@given(st.lists(DEFECTS, max_size=4), NAMES, st.text(max_size=300), SCREEN)
def test_whatever_is_found_no_line_is_too_wide(
    defects: list[Any], name: str, reason: str, screen: Screen
) -> None:
    checks = (
        a_check(name, Status.DEFECTIVE, counts={DefectKind.MISSING: 10**9}, undecided=len(name)),
        a_check("by_email", Status.INCOMPLETE, reason=reason, notes=(reason,), ignored=(name,)),
    )
    result = a_run(a_table(*checks, table=name), defects=tuple(defects))
    assert fits(as_text.render(result, context=ReportContext(screen=screen)), screen)


@given(ENTRIES, ENTRIES, NAMES, SCREEN)
def test_whatever_is_repaired_no_line_is_too_wide(
    before: dict[str, Any], after: dict[str, Any], name: str, screen: Screen
) -> None:
    action = replace(REPAIR.plan.actions[0], index=name, before=before, after=after)
    report = replace(REPAIR, plan=replace(REPAIR.plan, actions=(action,) * 3))
    assert fits(repair_as_text(report, screen), screen)
    runs = [replace(run, record=replace(run.record, table=name)) for run in RUNS]
    assert fits(runs_as_text(runs, screen), screen)


@given(st.text(max_size=400).map(lambda text: text.replace("\n", " ")), st.integers(2, 120))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    plain = "".join(char for char in text if char.isprintable() and char != "\\")
    shown = wrapped(plain, Screen(width=max(width, 20)))
    assert "".join(shown.split()) == "".join(plain.split())


@given(st.text(max_size=80), st.integers(1, 60))
def test_parting_a_text_loses_nothing_and_goes_on(text: str, width: int) -> None:
    head, rest = parted(text, width)
    assert head + rest == text
    assert head or not text
    assert display_width(head) <= max(width, 2)


def test_characters_are_as_wide_as_terminals_show_them() -> None:
    assert display_width("abc") == 3
    assert display_width("漢字") == 4
    assert display_width("e\u0301") == 1
    assert display_width("👍") == 2
    assert display_width("❤\ufe0f") == 2
    assert display_width("\x1b[31mred\x1b[0m") == 3
    assert cut("漢字漢字漢字", 8) == "漢字..."
    assert parted("e\u0301e\u0301", 1) == ("e\u0301", "e\u0301")
    assert padded("漢", 4, right=True) == "  漢"


def test_wide_characters_leave_columns_aligned() -> None:
    grid = Grid(("name", "end"), (("漢字", "x"), ("ab", "y")))
    lines = fitted(grid, Screen(width=80)).split("\n")
    assert lines[2:] == ["漢字  x", "ab    y"]


def test_what_names_a_defect_is_never_cut() -> None:
    key = {"name": "".join(f"{number:04}" for number in range(45))}  # 180 digits, as long as shown
    result = a_run(a_table(a_check("by_customer")), defects=(a_defect(primary_key=key),))
    shown = as_text.render(result, context=ReportContext(screen=Screen(width=80)))
    assert f"name='{key['name']}'" in "".join(shown.split())


def test_other_long_values_end_in_dots() -> None:
    defect = a_defect(detail="word " * 150)
    shown = as_text.render(
        a_run(a_table(a_check("by_customer")), defects=(defect,)),
        context=ReportContext(screen=Screen(width=80)),
    )
    assert shown.count("word") < 60
    assert "..." in shown


def test_a_column_that_is_left_out_is_named() -> None:
    shown = VIEWS["defective"](Screen(width=80))
    assert "not shown in 80 columns: snapshot, entries" in shown
    assert "not shown" not in VIEWS["defective"](Screen(width=200))


COMMAND = "scrub repair table orders --catalog '/a/very long/path/scrub.yaml' --index by_customer"


@pytest.mark.parametrize("width", range(20, 100, 5))
@pytest.mark.parametrize(
    "command",
    [
        "scrub undo c3dc0cb760e4 --execute",
        COMMAND,
        "scrub check table " + "t" * 150 + " --execute",
        shlex.join(["scrub", "check", "table", "it's " + "a name with blanks " * 8, "--redact"]),
    ],
)
@pytest.mark.parametrize("lead", ["", "12 done; to undo it: ", "  - why it is so: "])
def test_a_command_can_be_pasted(lead: str, command: str, width: int) -> None:
    """A real shell reads the lines that belong to the command."""
    shown = wrapped(lead + command, Screen(width=width))
    assert max(map(display_width, shown.split("\n"))) <= width
    pasted = shown[re.search(r"\bscrub (?=undo|repair|check)", shown).start() :]  # type: ignore[union-attr]
    script = f'scrub() {{ printf "%s\\n" scrub "$@"; }}\n{pasted}\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == shlex.split(command)


@pytest.mark.parametrize(
    ("sentence", "command"),
    [
        ("(scrub check table orders shows them)", "scrub check table orders"),
        ("run scrub backfill resume orders, or cancel it", "scrub backfill resume orders"),
        ("build it: scrub backfill run t i --execute; then", "scrub backfill run t i --execute"),
    ],
)
def test_a_command_in_a_sentence_is_kept_on_one_line(sentence: str, command: str) -> None:
    for lead in range(60):
        shown = wrapped("x" * lead + " " + sentence, Screen(width=60))
        assert command in shown


def test_a_sentence_that_names_scrub_is_no_command() -> None:
    text = "the index was built by scrub and is kept by scrub itself for as long as it is needed"
    assert "\\" not in wrapped(text, Screen(width=40))


def test_a_number_stays_with_its_unit() -> None:
    for lead in range(40):
        shown = wrapped("x" * lead + " 3,000 rows in 33.1 s (45.2 MB)", Screen(width=40))
        assert {"3,000 rows", "33.1 s", "45.2 MB"} <= set(re.findall(r"[\d,.]+ \w+", shown))


def test_every_command_is_recognised() -> None:
    assert set(COMMANDS) <= set(VERBS)


@settings(max_examples=50)
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=4), SCREEN)
def test_a_grid_of_anything_fits(rows: list[tuple[str, str, str]], screen: Screen) -> None:
    printable = [
        tuple("".join(char for char in cell if char.isprintable()) or "-" for cell in row)
        for row in rows
    ]
    headers = ("index", "primary key", "a header of words")
    assert fits(fitted(Grid(headers, tuple(printable)), screen), screen)  # type: ignore[arg-type]
