# SPDX-License-Identifier: Apache-2.0
"""When a command fits its output to a terminal, and when it has colours."""

import io
import os
import pty
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from reports.display_width import display_width
from reports.screen import PAPER
from scrub.cli.screens import screen_of
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.gate_files import SEVERAL, Ground, ground
from tests.scrub.cli.small_lake import described, write_catalog

__all__ = ["ground"]  # a fixture

RED = "\x1b[31m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "90")


def test_a_terminal_has_a_width_and_colours() -> None:
    screen = screen_of(Terminal())
    assert (screen.width, screen.colour) == (90, True)


def test_a_file_or_a_pipe_takes_everything_whatever_columns_says() -> None:
    assert screen_of(io.StringIO()) == PAPER


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("0", 80), ("x", 80), ("-5", 80), ("12", 40), ("132", 132)]
)
def test_a_width_that_nobody_knows_is_80(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen_of(Terminal()).width == width


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_turned_off_for_all_programs(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert not screen_of(Terminal()).colour
    assert screen_of(Terminal(), "always").colour


def test_an_empty_no_color_turns_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert screen_of(Terminal()).colour


def test_the_option_decides_before_the_terminal() -> None:
    assert not screen_of(Terminal(), "never").colour
    piped = screen_of(io.StringIO(), "always")
    assert (piped.width, piped.colour) == (None, True)


@pytest.fixture
def judged(ground: Ground) -> None:
    """A defective result, which a gate can read without Spark."""
    ground.write(ground.result(*SEVERAL))


def gate(*more: str) -> int:
    return exit_code("gate", "--from", "result.jsonl", *more)


@pytest.mark.parametrize(
    ("option", "in_terminal", "in_pipe"),
    [("auto", True, False), ("always", True, True), ("never", False, False)],
)
def test_a_report_has_the_colours_that_were_asked_for(
    option: str,
    in_terminal: bool,
    in_pipe: bool,
    judged: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for stream, has_colours in ((Terminal(), in_terminal), (io.StringIO(), in_pipe)):
        monkeypatch.setattr(sys, "stdout", stream)
        assert gate("--color", option) == 1
        assert (RED in stream.getvalue()) == has_colours
        widest = max(map(display_width, stream.getvalue().split("\n")))
        assert (widest <= 90) == stream.isatty()


def test_a_file_is_paper_whatever_the_terminal(
    judged: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper, output = io.StringIO(), tmp_path / "report"
    monkeypatch.setattr(sys, "stdout", paper)
    gate()
    monkeypatch.setattr(sys, "stdout", Terminal())
    gate("--output", str(output), "--color", "always")
    assert output.read_text("utf-8") == paper.getvalue()


def test_errors_fit_the_terminal_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    for arguments in (
        ["check", "database", "--catalog", f"{tmp_path}/{'deep/' * 30}scrub.yaml"],
        ["repair", "table", "orders", "--kind", "no_such_kind"],
    ):
        assert exit_code(*arguments) == 2
    lines = sys.stderr.getvalue().split("\n")  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 90


@pytest.mark.parametrize("width", [80, 200])
def test_a_command_on_a_real_terminal(width: int, tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path, orders=described())
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    theirs, ours = pty.openpty()
    ioctl(ours, TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    program = "from scrub.cli.main import main; main()"
    command = [sys.executable, "-c", program, "catalog", "show", "--catalog", str(catalog)]
    with subprocess.Popen(
        command, stdout=ours, stderr=ours, stdin=ours, env=environment
    ) as process:
        os.close(ours)
        shown = _all_of(theirs)
    assert process.returncode == 0
    assert "by_customer" in shown
    assert max(map(display_width, shown.split("\r\n"))) <= width


def _all_of(terminal: int) -> str:
    read = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # as Linux says that nobody writes any more
            more = b""
        if not more:
            os.close(terminal)
            return read.decode()
        read += more
