# SPDX-License-Identifier: Apache-2.0
"""`scrub catalog`: says whether the catalog is in order, and what it describes."""

from pathlib import Path

import click
from tabulate import tabulate

from reports.escaping import printable
from scrub.catalog.load import load_catalog
from scrub.catalog.show import Listing, describe_catalog, describe_table
from scrub.cli import options
from scrub.errors import UsageError


@click.group()
def catalog() -> None:
    """Validate or show the catalog."""


@catalog.command()
@options.catalog
def validate(catalog: Path) -> None:
    """Say whether the catalog can be used; list every mistake if not."""
    loaded = load_catalog(catalog)
    indexes = sum(len(table.indexes) for table in loaded.tables.values())
    click.echo(printable(f"{catalog}: {len(loaded.tables)} tables, {indexes} indexes, no mistakes"))


@catalog.command()
@click.argument("table", required=False)
@options.catalog
def show(table: str | None, catalog: Path) -> None:
    """Show what the catalog describes: everything, or one TABLE with its columns."""
    loaded = load_catalog(catalog)
    if table is not None and table not in loaded.tables:
        known = ", ".join(loaded.tables)
        raise UsageError(f"the catalog has no table '{table}'", hint=f"it has: {known}")
    listings = describe_table(loaded.tables[table]) if table else describe_catalog(loaded)
    click.echo("\n\n".join(map(_rendered, listings)))


def _rendered(listing: Listing) -> str:
    rows = [[printable(cell) for cell in row] for row in listing.rows]
    return tabulate(rows, headers=listing.headers, disable_numparse=True)
