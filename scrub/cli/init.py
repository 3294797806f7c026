# SPDX-License-Identifier: Apache-2.0
"""`scrub init`: writes a first catalog from the tables found."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scrub.cli import options
from scrub.cli.screens import show_prose, tell
from scrub.model.command_line import DEFAULT_CATALOG, command_line

if TYPE_CHECKING:
    from scrub.app.catalog_init.from_directory import InitResult


@click.command()
@click.argument("place", metavar="DIR|URL")
@click.option(
    "--catalog",
    type=options.FILE,
    default=DEFAULT_CATALOG,
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--schema",
    default="public",
    show_default=True,
    help="The schema to describe, if a database is given.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing catalog.")
def init(place: str, catalog: Path, schema: str, force: bool) -> None:
    """Write a first catalog from the Delta and Parquet tables below DIR, or from a database.

    URL is postgresql://user@host/database, or 'host=... dbname=... user=...'. Keep the password in
    ~/.pgpass. Facts that are not declared, such as which table is an index of another, are guessed,
    and every guess is marked in the file.
    """
    from reports.escaping import printable
    from scrub.app.catalog_init.from_database import init_database, is_database
    from scrub.app.catalog_init.from_directory import init_catalog
    from scrub.stores.postgres.connections import without_password

    of_database = is_database(place)
    if of_database:
        result = init_database(place, catalog, schema=schema, force=force)
    else:
        result = init_catalog(Path(place), catalog, force=force)
    for table, indexes in result.tables.items():
        listed = ", ".join(indexes) if indexes else "no indexes found"
        show_prose(printable(f"{table}: {listed}"))
    for relation, reason in result.unusable.items():
        tell(f"left out: {relation}: {reason}")
    for table, reason in result.no_indexes.items():
        tell(f"not taken for an index: {table}: {reason}")
    if of_database and without_password(place) != place.rstrip("?&"):
        left_out = "the password was left out: put it into ~/.pgpass or PGPASSWORD"
        tell(left_out)
    for what in result.to_fill_in:
        tell(f"fill in: {what}")
    look = "; look at the lines marked `guess`" if result.has_guesses else ""
    tell(f"wrote {result.path}{look}")
    _show_relations(result)


def _show_relations(result: "InitResult") -> None:
    """What the guesses are worth, as far as that shows without reading a row."""
    from scrub.app.relations.validating import validate_without_spark

    again = command_line("catalog validate", "--relations", catalog=result.path)
    if result.to_fill_in:
        tell(f"then compare it with the relations: {again}")
        return
    report = validate_without_spark(result.path)
    for found in report.found:
        tell(f"{result.path}:{found.line}: {found.message}")
        if found.hint:
            tell(f"    {found.hint}")
    if report.found:
        tell(f"correct this, and look again: {again}")
    else:
        tell(f"{report.opened} relations opened: all are as described")
