# SPDX-License-Identifier: Apache-2.0
"""`scrub init`: writes a first catalog from the tables found."""

from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--catalog",
    type=_FILE,
    default=Path("scrub.yaml"),
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing catalog.")
def init(directory: Path, catalog: Path, force: bool) -> None:
    """Write a first catalog from the Delta and Parquet tables below DIR.

    Primary keys and indexes are guessed, and every guess is marked in the file.
    """
    from reports.escaping import printable
    from scrub.app.init_catalog import init_catalog

    result = init_catalog(directory, catalog, force=force)
    for table, indexes in result.tables.items():
        listed = ", ".join(indexes) if indexes else "no indexes found"
        click.echo(printable(f"{table}: {listed}"))
    for relation, reason in result.unusable.items():
        click.echo(printable(f"left out: {relation}: {reason}"), err=True)
    click.echo(printable(f"wrote {result.path}; look at the lines marked `guess`"), err=True)
