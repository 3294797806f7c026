# SPDX-License-Identifier: Apache-2.0
"""`scrub prepare`: once after an installation, so that every later start is shorter."""

import click

from scrub.cli.progress import shown_progress


@click.command()
def prepare() -> None:
    """Make every later start shorter: compile loops, and keep what Spark loads in one file.

    Nothing depends on it. Run it once after an installation, best when an image is built, and again
    after Java or PySpark was renewed. Takes some minutes, and 200 MB in the Python environment.
    """
    from scrub.app.prepare import prepare as prepare_starts

    with shown_progress() as on_progress:
        made = prepare_starts(on_progress=on_progress)
    size = f"{made.bytes / 1_000_000:,.0f} MB"
    click.echo(f"Spark now starts from {made.archive} ({size}); it may be deleted at any time.")
