# SPDX-License-Identifier: Apache-2.0
"""Measures the check beside its peers and prints one table; `make bench` runs it."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from benchmarks.answers import WrongAnswer
from benchmarks.checking import session
from benchmarks.environment import environment
from benchmarks.line import Line
from benchmarks.lines import LINES
from benchmarks.measurements import Measurements
from benchmarks.timing import DISTURBANCE_MAX, Effort

MET = {True: "yes", False: "MISSED", None: ""}
HUGE = ("huge", "cold-huge")  # take ten gigabytes, and minutes
HEADERS = ("measurement", "best s", "median s", "rows/s/core", "ratio", "target", "met", "note")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 also when a target is missed, 1 when an answer is wrong."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("SCRUB_STATE_DIR", str(options.data / "state"))
    effort = Effort(warm=options.warm, repeat=options.repeat, patience_seconds=options.patience)
    found = environment()
    print(", ".join(f"{name} {value}" for name, value in found.items()))
    try:
        with session() as spark:
            m = Measurements(spark, options.data, options.rows, effort)
            lines = [(name, line) for name in _chosen(options) for line in LINES[name](m)]
    except WrongAnswer as error:
        print(f"WRONG ANSWER: {error}", file=sys.stderr)
        return 1
    print(f"table of {options.rows:,} rows, median and best of {options.repeat}, warm session")
    print(tabulate([_cells(line) for _, line in lines], headers=HEADERS, disable_numparse=True))
    _warn_of_others([line for _, line in lines])
    if options.json:
        options.json.write_text(json.dumps(_figures(options, found, lines), indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    temporary = Path(tempfile.gettempdir()) / "scrub-bench"
    add = parser.add_argument
    add("--rows", type=int, default=20_000_000, help="rows of the table (%(default)s)")
    add("--data", type=Path, default=temporary, help="where lakes are kept (%(default)s)")
    add("--warm", type=int, default=3, help="runs of each before it is measured (%(default)s)")
    add("--repeat", type=int, default=3, help="measured runs of each (%(default)s)")
    add(
        "--patience",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="for each measurement, wait so long for other processes to leave the machine alone",
    )
    add("--only", nargs="+", choices=LINES, metavar="NAME", help=", ".join(LINES))
    add("--huge", action="store_true", help="also check 100 M rows: 10 GB of data, minutes")
    add("--json", type=Path, metavar="FILE", help="save the figures")
    return parser


def _chosen(options: argparse.Namespace) -> list[str]:
    names = list(options.only or (name for name in LINES if name not in HUGE))
    if options.huge:
        names += [name for name in HUGE if name not in names]
    return names


def _cells(line: Line) -> tuple[str, ...]:
    timing, rate = line.timing, line.rows_per_second_and_core
    return (
        line.measurement,
        f"{timing.best:.2f}" if timing else "",
        f"{timing.median:.2f}" if timing else "",
        f"{rate:,.0f}" if rate else "",
        f"{line.ratio:.2f}" if line.ratio else "",
        str(line.target or ("completes" if line.completes is not None else "")),
        MET[line.met],
        line.note,
    )


def _warn_of_others(lines: Sequence[Line]) -> None:
    disturbance = max(line.disturbance for line in lines)
    if disturbance > DISTURBANCE_MAX:
        print(f"NOT RELIABLE: other processes took up to {disturbance:.0%} of the cores meanwhile")


def _figures(
    options: argparse.Namespace, found: Mapping[str, str], lines: Sequence[tuple[str, Line]]
) -> dict[str, object]:
    return {
        "environment": found,
        "rows": options.rows,
        "repeat": options.repeat,
        "lines": [{"name": name, **asdict(line), "met": line.met} for name, line in lines],
    }


if __name__ == "__main__":
    sys.exit(main())
