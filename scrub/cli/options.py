# SPDX-License-Identifier: Apache-2.0
"""The options that commands share, each group bundled into the dataclass it fills."""

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from reports import FORMATS
from scrub.cli import option_values as values
from scrub.cli.emit import ReportOptions
from scrub.cli.option_values import each, read_as
from scrub.model.request import CheckRequest, Engine, SparkOptions, Strategy

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def bundle(argument: str, bundle_class: type[Any], *options: Decorator, **fixed: Any) -> Decorator:
    """Gives a command the options, but as one argument: a dataclass with fields of these names."""
    names = {field.name for field in fields(bundle_class)}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def call(**given: Any) -> Any:
            mine = {name: given.pop(name) for name in names & given.keys()}
            return command(**given, **{argument: bundle_class(**mine, **fixed)})

        decorated: Command = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


FILE = click.Path(dir_okay=False, path_type=Path)

catalog = click.option(
    "--catalog",
    type=FILE,
    default=Path("scrub.yaml"),
    show_default=True,
    help="The file that describes tables and indexes.",
)
tables = click.argument("tables", nargs=-1, required=True, metavar="TABLE...")

check_request = bundle(
    "request",
    CheckRequest,
    catalog,
    click.option("--index", "indexes", multiple=True, metavar="NAME",
                 help="Check only this index; may be repeated."),
    click.option("--checks", metavar="NAMES", callback=values.read_names,
                 help="Which checks to run, separated by commas: index, physical.  [default: "
                 "index; both for tables in key-value layout]"),
    click.option("--strategy", type=click.Choice([choice.value for choice in Strategy]),
                 default="auto", show_default=True, callback=read_as(Strategy),
                 help="Compare fingerprints and drill down, or join everything."),
    click.option("--engine", type=click.Choice([choice.value for choice in Engine]),
                 default="auto", show_default=True, callback=read_as(Engine),
                 help="Who scans: the tasks themselves, or Spark SQL."),
    click.option("--as-of", multiple=True, metavar="VERSION|NAME=VERSION|TIME",
                 callback=read_as(each(values.as_of)),
                 help="Read an older version of the table, of NAME, or of everything at a time "
                 "(UTC unless it says otherwise); may be repeated."),
    click.option("--where", metavar="EXPR", help="Check only rows for which this holds."),
    click.option("--settle", "settle_seconds", type=float, metavar="SECONDS",
                 callback=read_as(values.seconds),
                 help="Look again after so long and keep what persists."),
    click.option("--limit", type=click.IntRange(min=0), metavar="N", default=100, show_default=True,
                 help="Show at most so many defects; the counts stay exact."),
    click.option("--redact", is_flag=True,
                 help="Show keys and names of differing columns, no other values."),
    click.option("--all-defects", type=FILE, callback=read_as(values.new_file),
                 help="Write every defect to this file, as JSON lines."),
    click.option("--fresh", is_flag=True, help="Do not resume an interrupted check."),
)  # fmt: skip

_FORMAT_AND_OUTPUT = (
    click.option("--format", type=click.Choice(list(FORMATS)), default="text", show_default=True,
                 help="How the result is written."),
    click.option("--output", type=FILE, callback=read_as(values.new_file),
                 help="Write the result to this file instead of standard output."),
)  # fmt: skip

report_options = bundle(
    "report",
    ReportOptions,
    *_FORMAT_AND_OUTPUT,
    click.option("--explain", is_flag=True, help="Show what would run, and run nothing."),
)
result_options = bundle("report", ReportOptions, *_FORMAT_AND_OUTPUT)

spark_options = bundle(
    "spark_options",
    SparkOptions,
    click.option("--master", metavar="URL", help="The Spark master; default: this machine."),
    click.option("--remote", metavar="URL", help="A Spark Connect server."),
    click.option("--conf", multiple=True, metavar="K=V",
                 callback=read_as(each(values.spark_setting)),
                 help="A Spark setting; may be repeated."),
    click.option("--verbose", is_flag=True, help="Let Spark's own messages through."),
    short_lived=True,
)  # fmt: skip
