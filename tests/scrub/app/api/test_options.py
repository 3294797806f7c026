# SPDX-License-Identifier: Apache-2.0
"""The functions of `scrub.app` have the options of their commands: names, defaults and limits."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import click
import pytest

import scrub.app
from scrub.app.api.given import spark_options_of
from scrub.cli import backfill, check, index, journal, repair
from scrub.errors import UsageError

COMMANDS: Mapping[str, click.Command] = {
    "check": check.table,
    "repair": repair.table,
    "undo": journal.undo,
    "backfill": backfill.run,
    "verify": backfill.verify,
    "follow": index.follow,
}
OF_REPORTS = {"color", "format", "format_", "output", "gx_docs"}
OF_ANOTHER_FUNCTION = {"explain"}  # explain_check
OF_PYTHON = {"spark", "frames", "on_progress", "on_step", "on_round"}
HEAVY = ("pyspark", "pyarrow", "pandas", "numpy", "numba", "deltalake", "sqlglot", "click")


def function_of(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(scrub.app, name)
    return found


def options_of(command: click.Command) -> dict[str, click.Parameter]:
    left_out = OF_REPORTS | OF_ANOTHER_FUNCTION
    return {str(p.name): p for p in command.params if p.name not in left_out}


def default_of(option: click.Parameter) -> object:
    """What the command takes if the option is not given, as Python would write it."""
    given = option.get_default(click.Context(click.Command("any")))
    return None if given in (None, False, ()) or "UNSET" in repr(given) else comparable(given)


def comparable(default: object) -> object:
    if isinstance(default, Enum):
        return default.value
    if isinstance(default, Path):
        return str(default)
    return None if default in (None, False, ()) else default


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_has_the_options_of_its_command(name: str) -> None:
    parameters = inspect.signature(function_of(name)).parameters
    assert set(parameters) - OF_PYTHON == set(options_of(COMMANDS[name]))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_has_the_defaults_of_its_command(name: str) -> None:
    parameters = inspect.signature(function_of(name)).parameters
    optional = {
        n: comparable(p.default)
        for n, p in parameters.items()
        if p.default is not inspect.Parameter.empty and n not in OF_PYTHON
    }
    options = options_of(COMMANDS[name])
    assert optional == {n: default_of(options[n]) for n in optional}
    assert {n for n in options if n not in optional} <= {"table", "tables", "indexes", "run"}


def limits() -> list[tuple[str, str, float]]:
    """Each number that a command refuses because it is too small."""
    return [
        (name, option, kind.min if kind.min_open else kind.min - 1)
        for name, command in COMMANDS.items()
        for option, parameter in options_of(command).items()
        if isinstance(kind := parameter.type, click.IntRange | click.FloatRange)
        and kind.min is not None
    ]


@pytest.mark.parametrize(("name", "option", "number"), limits())
def test_a_function_refuses_the_numbers_that_its_command_refuses(
    name: str, option: str, number: float
) -> None:
    indexes = ("by_customer",) if name in ("backfill", "verify", "follow") else ()
    with pytest.raises(UsageError, match=f"{option} is {number}, and must be "):
        function_of(name)("orders", *indexes, **{option: number})


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("check", {"checks": ["idnex"]}, "checks: there is no check idnex"),
        ("check", {"strategy": "quick"}, "strategy: 'quick' is not a valid Strategy"),
        ("check", {"as_of": "yesterday"}, "as_of: 'yesterday' is neither a version"),
        ("check", {"settle_seconds": -1}, "settle_seconds is -1, and must be at least 0"),
        ("check", {"all_defects": "no/where.jsonl"}, "all_defects: the folder 'no' does not exist"),
        ("check", {"bytes_per_second": 0}, "bytes_per_second: it must be more than 0 bytes"),
        ("check", {"bytes_per_second": "a lot"}, "bytes_per_second: 'a lot' is no number of bytes"),
        ("check", {"pause_file": "no/where"}, "pause_file: the folder 'no' does not exist"),
        ("check", {"pause_file": "/"}, "pause_file: '/' is a folder, not a file"),
        ("check", {"all_defects": "/"}, "all_defects: '/' is a folder, not a file"),
        ("check", {"master": "local", "remote": "sc://x"}, "master and remote exclude each other"),
        ("repair", {"kinds": ["mising"]}, "kinds: mising: there is no such kind; there are miss"),
        ("repair", {"verify": True}, "--verify checks what was repaired, and without --execute"),
        ("repair", {"patch": "x", "execute": True}, "--patch changes nothing"),
        ("repair", {"from_file": "x", "where": "true"}, "--where chooses rows to check"),
        ("backfill", {}, "name the indexes, after the table"),
        ("verify", {}, "name the indexes, after the table"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(
    name: str, given: Mapping[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        function_of(name)("orders", **given)
    assert str(refused.value).startswith(told)


def test_a_setting_may_be_a_number_or_a_truth() -> None:
    conf = {"scrub.inProcessBytes": 0, "spark.ui.enabled": False, "spark.app.name": "orders"}
    assert spark_options_of(None, None, conf, verbose=False).conf == (
        ("scrub.inProcessBytes", "0"),
        ("spark.ui.enabled", "false"),
        ("spark.app.name", "orders"),
    )


def test_importing_the_api_is_cheap_and_everything_it_names_is_there() -> None:
    program = (
        "import sys\nimport scrub.app\nprint(dir(scrub.app))\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    names, heavy = done.stdout.splitlines()
    assert names == str(sorted(scrub.app.__all__))
    assert heavy == "[]"
    for name in scrub.app.__all__:
        assert getattr(scrub.app, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        scrub.app.__getattr__("chek")
