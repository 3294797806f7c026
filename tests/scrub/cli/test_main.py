# SPDX-License-Identifier: Apache-2.0
"""The error boundary and the lazy list of commands."""

import os
import re
import subprocess
import sys
from importlib import import_module

import click
import pytest

from scrub import __version__
from scrub.cli import main
from scrub.cli.main import LazyCommand
from scrub.errors import CatalogError, Mistake, ScrubError, StoreUnavailable

HEAVY = (
    "pyspark",
    "pyarrow",
    "numpy",
    "numba",
    "pandas",
    "deltalake",
    "sqlglot",
    "great_expectations",
)


def failing_with(error: BaseException) -> click.Command:
    @click.command()
    def fail() -> None:
        raise error

    return fail


@pytest.fixture
def run_failing(monkeypatch: pytest.MonkeyPatch):
    """Run a command that raises the given error, through the boundary."""

    def run(error: BaseException) -> int:
        monkeypatch.setattr(LazyCommand, "load", lambda _: failing_with(error))
        return main.run(["check"])

    return run


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["check", "table", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """Counted in modules, not in seconds: `scrub --help` must answer at once on any machine."""
    program = (
        "import sys\n"
        "from scrub.cli.main import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('heavy:', *(m for m in {HEAVY!r} if m in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy:"


def test_help_loads_no_command(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(LazyCommand, "load", pytest.fail)
    assert main.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, command in main.COMMANDS.items():
        assert name in shown
        assert command.help in shown


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_listed_command_exists(name: str) -> None:
    module, _, attribute = main.COMMANDS[name].target.partition(":")
    assert isinstance(getattr(import_module(module), attribute), click.Command)


def test_version(capsys) -> None:
    assert main.run(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nope"], ["check", "table"], ["--nope"], ["check", "x"]])
def test_usage_errors_are_2_and_on_stderr(arguments: list[str], capsys) -> None:
    assert main.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"error: .+\nhint: .+\n", captured.err)


def test_a_scrub_error_shows_its_message_and_hint(run_failing, capsys) -> None:
    assert run_failing(ScrubError("no \x1b[31mred", hint="write it\nlike this")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: no \\x1b[31mred\nhint: write it\nlike this\n"


def test_a_catalog_error_keeps_its_lines(run_failing, capsys) -> None:
    mistakes = (Mistake(3, "unknown key 'tabels'", "write 'tables'"), Mistake(9, "no type"))
    assert run_failing(CatalogError("scrub.yaml", mistakes)) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: scrub.yaml:3: unknown key 'tabels'",
        "    write 'tables'",
        "scrub.yaml:9: no type",
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable("gone"), 3),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.FileError("x"), 2),  # click's own code for it is 1
        (ValueError("a mistake of ours"), 70),
        (AssertionError(), 70),
    ],
)
def test_exit_codes(run_failing, error: BaseException, code: int) -> None:
    assert run_failing(error) == code


def test_a_results_exit_code_passes_through(run_failing) -> None:
    with pytest.raises(SystemExit) as stop:
        run_failing(SystemExit(1))
    assert stop.value.code == 1


def test_an_interrupt_says_so_and_nothing_else(run_failing, capsys) -> None:
    run_failing(KeyboardInterrupt())
    assert capsys.readouterr().err == "interrupted\n"


def test_an_unexpected_error_shows_its_traceback(run_failing, capsys) -> None:
    run_failing(ValueError("a mistake of ours"))
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = "from scrub.cli.main import main; main()"
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", program, "--help"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")
