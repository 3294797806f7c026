# SPDX-License-Identifier: Apache-2.0
"""`scrub catalog`: says whether the catalog is in order, and what it describes."""

from pathlib import Path

import click
from tabulate import tabulate

from reports.escaping import printable
from scrub.catalog.load import load_catalog
from scrub.catalog.show import Listing, describe_catalog, describe_table
from scrub.catalog.waivers import load_waivers
from scrub.cli import completing, options
from scrub.cli.groups import Group


@click.group(cls=Group, for_tables="show")
def catalog() -> None:
    """Validate or show the catalog."""


@catalog.command()
@options.catalog
def validate(catalog: Path) -> None:
    """Report every mistake in the catalog and in its file of waivers."""
    loaded = load_catalog(catalog)
    waivers = load_waivers(loaded)
    tables = _count(len(loaded.tables), "table", "tables")
    indexes = _count(sum(len(t.indexes) for t in loaded.tables.values()), "index", "indexes")
    waived = f", {_count(len(waivers), 'waiver', 'waivers')}" if waivers else ""
    click.echo(printable(f"{catalog}: {tables}, {indexes}{waived}, no mistakes"))


@catalog.command()
@click.argument("table", required=False, shell_complete=completing.tables)
@options.catalog
def show(table: str | None, catalog: Path) -> None:
    """Show all tables of the catalog, or one TABLE with its columns."""
    loaded = load_catalog(catalog)
    listings = describe_table(loaded.table(table)) if table else describe_catalog(loaded)
    click.echo("\n\n".join(map(_rendered, listings)))
    if table is None:
        days = loaded.journal_days
        kept = "without end" if days is None else f"for {days:g} days"
        click.echo(f"\nrepairs can be undone {kept} (journal_days)")


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _rendered(listing: Listing) -> str:
    rows = [[printable(cell) for cell in row] for row in listing.rows]
    return tabulate(rows, headers=listing.headers, disable_numparse=True)
