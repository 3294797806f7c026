# SPDX-License-Identifier: Apache-2.0
"""The options that commands share, each group bundled into the dataclass it fills."""

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from reports import FORMATS
from scrub.cli import completing
from scrub.cli import option_values as values
from scrub.cli.emit import ReportOptions
from scrub.cli.option_values import each, read_as
from scrub.cli.screens import color
from scrub.errors import UsageError
from scrub.model.command_line import DEFAULT_CATALOG
from scrub.model.pace import parse_rate
from scrub.model.request import CheckRequest, Engine, SparkOptions, Strategy, parse_as_of
from scrub.whole_files import in_existing_folder, writable_file

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator; help shows them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def bundle(argument: str, bundle_class: type[Any], *options: Decorator, **fixed: Any) -> Decorator:
    """Gives a command the options, but as one argument: a dataclass with fields of these names."""
    names = {field.name for field in fields(bundle_class)}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def call(**given: Any) -> Any:
            mine = {name: given.pop(name) for name in names & given.keys()}
            return command(**given, **{argument: bundle_class(**mine, **fixed)})

        return together(*options)(call)

    return decorate


FILE = click.Path(dir_okay=False, path_type=Path)

redact = click.option(
    "--redact",
    is_flag=True,
    help="Show keys and the names of differing columns, but no other values.",
)
catalog = click.option(
    "--catalog",
    type=FILE,
    default=DEFAULT_CATALOG,
    show_default=True,
    help="The catalog: the file that describes tables and indexes.",
)
execute = click.option(
    "--execute", is_flag=True, help="Make the changes. Without it, only show them."
)
text_or_json = together(
    click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text",
                 show_default=True, help="The format of the result."),
    color,
)  # fmt: skip
wait_limit = click.option("--wait-limit", type=click.FloatRange(min=0), default=60.0,
                          show_default=True, metavar="SECONDS",
                          help="How long to wait for other transactions.")  # fmt: skip
table = click.argument("table", shell_complete=completing.tables)
tables = click.argument("tables", nargs=-1, required=True, metavar="TABLE...",
                        shell_complete=completing.tables)  # fmt: skip
run = click.argument("run", shell_complete=completing.runs)


def rows(least: int, default: int, what: str) -> Decorator:
    """`--rows N`, for commands that make or copy tables."""
    return click.option(
        "--rows",
        type=click.IntRange(min=least),
        metavar="N",
        default=default,
        show_default=True,
        help=what,
    )


def keep(what: str) -> Decorator:
    """`--keep DIR`, for commands that otherwise remove what they make."""
    directory = click.Path(file_okay=False, path_type=Path)
    return click.option("--keep", type=directory, metavar="DIR", help=what)


pause_file = click.option("--pause-file", type=FILE, metavar="FILE",
                          callback=read_as(in_existing_folder),
                          help="Pause while this file exists.")  # fmt: skip
pace = together(
    click.option("--rows-per-second", type=click.IntRange(min=1), metavar="N",
                 help="Read at most this many rows and entries per second."),
    click.option("--bytes-per-second", metavar="SIZE", callback=read_as(parse_rate),
                 help="Read at most this much per second, as it is stored, of the columns that "
                 "are needed: 50MiB."),
    pause_file,
)  # fmt: skip

check_request = bundle(
    "request",
    CheckRequest,
    catalog,
    click.option("--index", "indexes", multiple=True, metavar="NAME",
                 shell_complete=completing.indexes,
                 help="Check only this index. Can be repeated."),
    click.option("--constraint", "constraints", multiple=True, metavar="NAME",
                 help="Check only this constraint. Can be repeated."),
    click.option("--checks", metavar="NAMES", callback=values.read_names,
                 help="The checks to run, separated by commas: index, constraint, physical.  "
                 "[default: index; constraint for tables that declare constraints; physical for "
                 "tables in key-value layout]"),
    click.option("--strategy", type=click.Choice([choice.value for choice in Strategy]),
                 default="auto", show_default=True, callback=read_as(Strategy),
                 help="fingerprint: compare fingerprints, and read only what differs. merge: join "
                 "all rows and entries."),
    click.option("--engine", type=click.Choice([choice.value for choice in Engine]),
                 default="auto", show_default=True, callback=read_as(Engine),
                 help="native: tasks read the files themselves. sql: Spark SQL reads them."),
    click.option("--as-of", multiple=True, metavar="VERSION|NAME=VERSION|TIME",
                 callback=read_as(each(parse_as_of)),
                 help="Read an older version of the table, a version of NAME, or everything as of "
                 "a time (UTC if no zone is given). Can be repeated."),
    click.option("--where", metavar="EXPR",
                 help="Check only rows for which this Spark SQL expression is true."),
    click.option("--settle", "settle_seconds", type=float, metavar="SECONDS",
                 callback=read_as(values.seconds),
                 help="Check again after this time, and report only defects that are still there."),
    click.option("--limit", type=click.IntRange(min=0), metavar="N", default=100, show_default=True,
                 help="Show at most this many defects. The counts are always exact."),
    redact,
    click.option("--all-defects", type=FILE, callback=read_as(writable_file),
                 help="Write every defect to this file, as JSON lines."),
    pace,
    click.option("--fresh", is_flag=True,
                 help="Start from the beginning, even if an interrupted check could be resumed."),
)  # fmt: skip

_FORMAT_AND_OUTPUT = (
    click.option("--format", type=click.Choice(list(FORMATS)), default="text", show_default=True,
                 help="The format of the result."),
    click.option("--output", type=FILE, callback=read_as(writable_file),
                 help="Write the result to this file instead of standard output."),
    color,
)  # fmt: skip

report_options = bundle(
    "report",
    ReportOptions,
    *_FORMAT_AND_OUTPUT,
    click.option("--explain", is_flag=True, help="Show what would run, and run nothing."),
    click.option("--gx-docs", metavar="DIR", type=click.Path(path_type=Path),
                 callback=read_as(values.place_of_docs),
                 help="Write the result to this directory, too, as Data Docs of Great "
                 "Expectations."),
)  # fmt: skip
result_options = bundle("report", ReportOptions, *_FORMAT_AND_OUTPUT)


def demand_one_session(chosen: SparkOptions) -> None:
    if chosen.master and chosen.remote:
        raise UsageError("--master and --remote exclude each other", hint="use one of the two")


spark_options = bundle(
    "spark_options",
    SparkOptions,
    click.option("--master", metavar="URL",
                 help="The Spark master.  [default: all cores of this machine]"),
    click.option("--remote", metavar="URL", help="A Spark Connect server."),
    click.option("--conf", multiple=True, metavar="K=V",
                 callback=read_as(each(values.spark_setting)),
                 help="A Spark setting. Can be repeated."),
    click.option("--verbose", is_flag=True, help="Show Spark's own messages."),
    short_lived=True,
)  # fmt: skip
