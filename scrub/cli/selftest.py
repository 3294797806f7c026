# SPDX-License-Identifier: Apache-2.0
"""`scrub selftest`: proves on a copy of the user's own table that faults are found."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from reports import colours
from reports.escaping import printable
from reports.grids import Grid
from reports.quantities import counted
from reports.screen import Screen
from reports.tables import table as table_text
from reports.wrapping import wrapped
from scrub.cli import options
from scrub.cli.progress import shown_progress
from scrub.cli.screens import color, output_screen, show, tell
from scrub.model.command_line import DEFAULT_CATALOG, command_line
from scrub.model.request import SparkOptions

if TYPE_CHECKING:
    from scrub.app.selftest_and_demo.faults import NotPlanted
    from scrub.app.selftest_and_demo.key_values import DefectKey
    from scrub.app.selftest_and_demo.selftest import SelfTestResult

_ROWS_DEFAULT = 100_000
_UNEXPECTED_SHOWN = 10


@click.command()
@options.table
@options.catalog
@options.rows(1, _ROWS_DEFAULT, "Copy at most this many rows of the table and of each index.")
@options.keep("Write the copies to this new or empty directory, and keep them.")
@color
@options.spark_options
def selftest(
    table: str, catalog: Path, rows: int, keep: Path | None, spark_options: SparkOptions
) -> NoReturn:
    """Plant known faults into a copy of TABLE and its indexes, and verify that each is found.

    Your data is only read. The exit code is 0 if every fault was found and nothing else was
    reported, 1 if not, and 3 if something could not be tried.
    """
    from scrub.app.selftest_and_demo.selftest import run_selftest

    options.demand_one_session(spark_options)
    with shown_progress() as on_progress:
        result = run_selftest(
            table,
            catalog=catalog,
            rows=rows,
            keep=keep,
            spark_options=spark_options,
            on_progress=on_progress,
        )
    show(selftest_as_text(result, output_screen(), catalog=catalog))
    if keep is not None:
        tell(f"the copies are in {keep}")
    raise SystemExit(result.exit_code)


def selftest_as_text(
    result: "SelfTestResult", screen: Screen, *, catalog: Path = DEFAULT_CATALOG
) -> str:
    """What was planted, what was found, and what could not be tried."""
    return wrapped("\n\n".join(_sections(result, screen, catalog)), screen)


def _sections(result: "SelfTestResult", screen: Screen, catalog: Path) -> Iterator[str]:
    yield _headline(result)
    if result.trials:
        yield table_text(_trials(result), screen)
    yield from _reasons("Could not be tried", result.not_tried)
    yield from _reasons("Not applicable", result.not_applicable)
    for engine, keys in result.unexpected.items():
        yield from _unexpected(engine, keys)
    if result.also_found:
        defects = counted(result.also_found, "defect")
        check = command_line("check table", result.table, catalog=catalog)
        yield printable(f"Also found in your data: {defects}; to see them: {check}")
    yield _verdict(result, screen)


def _headline(result: "SelfTestResult") -> str:
    share = f"all {result.rows:,} rows"
    if result.rows < result.rows_total:
        share = f"a sample of {result.rows:,} of {result.rows_total:,} rows"
    return printable(f"{result.table}: {share} with their entries were copied")


def _trials(result: "SelfTestResult") -> Grid:
    rows = (
        (
            printable(trial.index),
            trial.fault,
            str(trial.planted),
            *(str(trial.found[engine]) for engine in result.engines),
            "found" if trial.passed else "NOT FOUND",
        )
        for trial in result.trials
    )
    counts = ("defects planted", *(f"found ({engine})" for engine in result.engines))
    headers = ("index", "fault", *counts, "verdict")
    return Grid(headers, tuple(rows), numbers=frozenset(counts), heads=("index", "fault"))


def _reasons(title: str, left_out: "Iterable[NotPlanted]") -> Iterator[str]:
    """One line for each index and reason, with the faults it keeps away."""
    faults: dict[tuple[str, str], list[str]] = {}
    for left in sorted(left_out, key=lambda left: left.index):
        faults.setdefault((left.index, left.reason), []).append(left.fault)
    if faults:
        lines = [
            printable(f"  - {index}: {', '.join(names)} ({reason})")
            for (index, reason), names in faults.items()
        ]
        yield "\n".join([title, *lines])


def _unexpected(engine: str, keys: "Sequence[DefectKey]") -> Iterator[str]:
    if keys:
        lines = [
            printable(f"  - {key.kind} of {key.index}, primary key {key.primary_key}")
            for key in keys[:_UNEXPECTED_SHOWN]
        ]
        more = len(keys) - len(lines)
        lines += [f"  - and {more:,} more"] if more else []
        yield "\n".join([f"Differs where nothing was planted ({engine})", *lines])


def _verdict(result: "SelfTestResult", screen: Screen) -> str:
    passed = sum(trial.passed for trial in result.trials)
    unexpected = sum(map(len, result.unexpected.values()))
    missed = counted(len(result.trials) - passed, "fault")
    strange = counted(unexpected, "difference")
    words = {
        0: "passed: every planted fault was found, and nothing else",
        1: f"failed: {missed} missed, {strange} where nothing was planted; please report this",
        3: "incomplete: what was tried was found, but not everything could be tried",
    }[result.exit_code]
    faults = f"{passed:,} of {counted(len(result.trials), 'fault')} found"
    told = f"{words}; {faults} in {result.seconds:.1f} s; exit code {result.exit_code}"
    return colours.status(told, screen)
