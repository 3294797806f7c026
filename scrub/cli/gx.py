# SPDX-License-Identifier: Apache-2.0
"""`scrub gx`: what scrub has for people who use Great Expectations."""

from pathlib import Path

import click

from scrub.catalog.load import load_catalog
from scrub.cli import options
from scrub.cli.emit import emit_text
from scrub.cli.files_apart import demand_apart
from scrub.cli.groups import Group
from scrub.cli.option_values import read_as
from scrub.cli.screens import tell
from scrub.whole_files import writable_file


@click.group(cls=Group, for_tables="export")
def gx() -> None:
    """Use scrub with Great Expectations."""


@gx.command()
@options.table
@click.option("--output", type=options.FILE, callback=read_as(writable_file),
              help="Write the suite to this file instead of standard output.")  # fmt: skip
@options.catalog
def export(table: str, output: Path | None, catalog: Path) -> None:
    """Write the constraints and indexes of TABLE as an expectation suite, in JSON."""
    demand_apart({"--output": output}, {"the catalog": catalog})
    from scrub.gx.suite_export import export_suite

    suite = export_suite(load_catalog(catalog, unset_allowed=True), table, catalog)
    emit_text(suite.text, output)
    for one in suite.not_said:
        told = f"{one.constraint} is left to ExpectConstraintsToHold: {one.reason}"
        tell(told)
    if output is not None:
        tell(f"{suite.expectations} expectations are in {output}")
