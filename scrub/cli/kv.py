# SPDX-License-Identifier: Apache-2.0
"""`scrub kv`: pairs of a table in key-value layout, made and read."""

from pathlib import Path

import click

from reports.escaping import printable
from scrub.catalog.load import load_catalog
from scrub.cli import completing, options
from scrub.cli.groups import Group
from scrub.cli.screens import show_prose
from scrub.model.request import SparkOptions


@click.group(cls=Group)
def kv() -> None:
    """Write rows as key-value pairs, or show pairs in readable form."""


@kv.command()
@options.table
@click.option(
    "--from",
    "source",
    required=True,
    metavar="TABLE",
    help="The table whose rows are written.",
    shell_complete=completing.tables,
)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory; the pairs are written there as Parquet.",
)
@options.catalog
def encode(table: str, source: str, output: Path, catalog: Path) -> None:
    """Write the rows of another table, and their index entries, as pairs of TABLE."""
    from scrub.app.pair_files import encode_table, kv_table
    from scrub.spark.session import spark_session

    loaded = load_catalog(catalog)
    kv_table(loaded, table)
    with spark_session(None, SparkOptions()) as spark:
        encode_table(spark, loaded, table, source, output)
        pairs = spark.read.parquet(str(output.absolute())).count()
    show_prose(f"{pairs:,} pairs of {printable(table)} in {printable(str(output))}")


@kv.command()
@options.table
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True,
              help="The number of pairs to show; 0 shows all.")  # fmt: skip
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write one line for each pair to this new directory.",
)
@options.catalog
def decode(table: str, limit: int, output: Path | None, catalog: Path) -> None:
    """Show the pairs of TABLE: their path, their columns, and what is wrong with them."""
    from scrub.app.pair_files import decoded_pairs, kv_table
    from scrub.spark.session import spark_session

    loaded = load_catalog(catalog)
    kv_table(loaded, table)
    with spark_session(None, SparkOptions()) as spark:
        lines = decoded_pairs(spark, loaded, table)
        if output is not None:
            lines.write.text(str(output.absolute()))
            return
        for row in (lines.limit(limit) if limit else lines).toLocalIterator():
            show_prose(printable(row["line"]))
