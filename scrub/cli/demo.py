# SPDX-License-Identifier: Apache-2.0
"""`scrub demo`: shows on a lake of its own what a check finds."""

import time
from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NoReturn

import click
from tabulate import tabulate

from reports.display_width import display_width
from reports.grids import Grid
from reports.screen import Screen
from reports.tables import table
from scrub.cli import options
from scrub.cli.emit import ReportOptions, emit_result
from scrub.cli.progress import shown_progress
from scrub.cli.screens import color, output_screen, show_prose
from scrub.model.table import Nulls

if TYPE_CHECKING:
    from scrub.app.selftest_and_demo.demo import DemoLake, DemoRepair, DemoResult

_ROWS_DEFAULT = 1_000_000
_ROWS_MIN = 1000  # fewer have no room for every fault
_KEPT = "./scrub-demo"


@click.command()
@options.rows(_ROWS_MIN, _ROWS_DEFAULT, "The number of orders.")
@options.keep("Create the lake in this new or empty directory, and keep it.")
@color
def demo(rows: int, keep: Path | None) -> NoReturn:
    """Create a lake of orders, plant defects of every kind, find them, and repair them.

    The exit code is 0 if exactly the planted defects were found, and only refused defects are left
    after the repair.
    """
    from scrub.app.selftest_and_demo.demo import make_demo, repair_demo, run_demo
    from scrub.app.selftest_and_demo.scratch import scratch_directory

    began = time.monotonic()
    with scratch_directory(keep) as directory:
        show_prose(f"Making a lake of {rows:,} orders with four indexes ...\n")
        with shown_progress() as on_progress:
            lake = make_demo(directory, rows, on_progress=on_progress)
        show_prose(_described(lake))
        show_prose("\nChecking it, as you would with your own:\n\n$ scrub check table orders\n")
        with shown_progress() as on_progress:
            found = run_demo(lake, on_progress=on_progress)
        emit_result(found.result, ReportOptions(), redact=False)
        show_prose(f"\nPlanted against found:\n\n{_compared(found)}\n\n{_verdict(found)}")
        with shown_progress() as on_progress:
            repaired = repair_demo(lake, found.result, on_progress=on_progress)
        _show_repair(repaired)
    show_prose(
        f"Making the lake took {lake.seconds:.1f} s, checking it "
        f"{found.seconds:.1f} s, everything {time.monotonic() - began:.1f} s."
    )
    show_prose(f"\nWhat to try next:\n\n{_next_steps(keep)}")
    raise SystemExit(found.exit_code or (0 if repaired.went_well else 1))


def _show_repair(repaired: "DemoRepair") -> None:
    from reports.repairs import repair_as_text, undo_as_text
    from reports.summary import closing_line

    screen = output_screen()
    show_prose("\nRepairing it: first what would be done, then doing it.\n")
    command = "$ scrub repair table orders --from result.json"
    show_prose(f"{command}\n\n{repair_as_text(repaired.planned, screen)}")
    show_prose(f"{command} --execute\n\n{repair_as_text(repaired.done, screen)}")
    show_prose(f"$ scrub check table orders\n\n{closing_line(repaired.after)}")
    if repaired.went_well:
        show_prose("What is left was refused: it is the table that is wrong there.\n")
    else:
        show_prose("The demo failed: something else is left. Please report this.\n")
    show_prose(
        f"$ scrub undo {repaired.done.run} --execute\n\n{undo_as_text(repaired.undone, screen)}"
    )


def _described(lake: "DemoLake") -> str:
    """The lake's indexes, and what was done to each."""
    rows = []
    for index in lake.table.indexes:
        columns = [f"{c.name} desc" if c.descending else c.name for c in index.key]
        definition = [("unique: " if index.unique else "") + ", ".join(columns)]
        if index.stored:
            definition.append(f"storing {', '.join(column.name for column in index.stored)}")
        if index.where:
            definition.append(f"where {index.where}")
        if index.nulls is Nulls.SKIP:
            definition.append("without NULLs")
        faults = [fault.fault for fault in lake.faults if fault.index == index.name]
        entries = f"{lake.entries[index.name]:,}"
        rows.append((index.name, "\n".join(definition), entries, "\n".join(faults)))
    headers = ("index", "columns", "entries", "faults planted")
    return table(Grid(headers, tuple(rows)), output_screen())


def _compared(found: "DemoResult") -> str:
    rows = (
        (str(kind), str(number), str(found.found.get(kind, 0)))
        for kind, number in found.planted.items()
    )
    numbers = ("planted", "found")
    grid = Grid(("defect", *numbers), tuple(rows), numbers=frozenset(numbers))
    return table(grid, output_screen())


def _verdict(found: "DemoResult") -> str:
    planted, seen = sum(found.planted.values()), sum(found.found.values())
    if found.exit_code == 0:
        return f"All {planted} were found, and nothing else."
    return (
        f"The demo failed: {seen} of {planted} planted defects were found, and "
        f"{found.unexpected} that were not planted. Please report this."
    )


def _next_steps(keep: Path | None) -> str:
    steps = {
        "scrub init DIR": "write a first catalog for the Delta and Parquet tables below DIR",
        "scrub check database": "check every table of that catalog",
        "scrub selftest TABLE": "plant such faults into a copy of your own table",
    }
    if keep is None:
        first = {f"scrub demo --keep {_KEPT}": "make the lake again, and keep it to look around"}
    else:
        first = {f"cd {quote(str(keep))} && scrub check table orders --explain": "see the plan"}
    return _beside((first | steps).items(), output_screen())


def _beside(steps: Iterable[tuple[str, str]], screen: Screen) -> str:
    """Each command beside what it does, or above it where the screen is narrow."""
    text = tabulate(steps, tablefmt="plain")
    if screen.width is None or max(map(display_width, text.split("\n"))) <= screen.width:
        return text
    return "\n".join(f"{command}\n    {what}" for command, what in steps)
