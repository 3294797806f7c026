# SPDX-License-Identifier: Apache-2.0
"""`scrub catalog`: says whether the catalog is in order, and what it describes."""

from pathlib import Path

import click

from reports.escaping import printable
from reports.grids import Grid
from reports.tables import table as table_text
from scrub.catalog.load import load_catalog
from scrub.catalog.show import Listing, describe_catalog, describe_table
from scrub.catalog.waivers import load_waivers
from scrub.cli import completing, options
from scrub.cli.groups import Group
from scrub.cli.screens import color, output_screen, show_prose
from scrub.model.request import SparkOptions


@click.group(cls=Group, for_tables="show")
def catalog() -> None:
    """Validate or show the catalog."""


@catalog.command()
@options.catalog
@click.option("--relations", is_flag=True,
              help="Open every relation, too: are the columns there, in types that fit, and may "
              "they be read? No rows are read.")  # fmt: skip
@options.spark_options
def validate(catalog: Path, relations: bool, spark_options: SparkOptions) -> None:
    """Report every mistake in the catalog and in its file of waivers.

    The exit code is 0 if there is none, and 2 if there are mistakes. With --relations, it is 3 if
    there are none, but a store or a relation could not be opened.
    """
    loaded = load_catalog(catalog)
    waivers = load_waivers(loaded)
    tables = _count(len(loaded.tables), "table", "tables")
    indexes = _count(sum(len(t.indexes) for t in loaded.tables.values()), "index", "indexes")
    waived = f", {_count(len(waivers), 'waiver', 'waivers')}" if waivers else ""
    opened = _opened_relations(catalog, spark_options) if relations else ""
    show_prose(printable(f"{catalog}: {tables}, {indexes}{waived}{opened}, no mistakes"))


@catalog.command()
@click.argument("table", required=False, shell_complete=completing.tables)
@options.catalog
@color
def show(table: str | None, catalog: Path) -> None:
    """Show all tables of the catalog, or one TABLE with its columns."""
    loaded = load_catalog(catalog)
    listings = describe_table(loaded.table(table)) if table else describe_catalog(loaded)
    show_prose("\n\n".join(map(_rendered, listings)))
    if table is None:
        days = loaded.journal_days
        kept = "without end" if days is None else f"for {days:g} days"
        show_prose(f"\nrepairs can be undone {kept} (journal_days)")


def _opened_relations(catalog: Path, spark_options: SparkOptions) -> str:
    from scrub.app.relations.validating import validate_relations
    from scrub.cli.progress import shown_progress

    with shown_progress() as on_progress:
        report = validate_relations(catalog, spark_options=spark_options, on_progress=on_progress)
    if report.by_spark:
        names = ", ".join(report.by_spark)
        click.echo(printable(f"Spark was started to describe: {names}"), err=True)
    report.demand_none()
    return f", {_count(report.opened, 'relation', 'relations')} opened"


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _rendered(listing: Listing) -> str:
    rows = tuple(tuple(printable(cell) for cell in row) for row in listing.rows)
    return table_text(Grid(listing.headers, rows, numbers=frozenset()), output_screen())
