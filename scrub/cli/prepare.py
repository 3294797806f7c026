# SPDX-License-Identifier: Apache-2.0
"""`scrub prepare`: once after an installation, so that every later start is shorter."""

import click

from scrub.cli.progress import shown_progress
from scrub.cli.screens import show_prose


@click.command()
def prepare() -> None:
    """Make later starts faster: compile loops, and store the classes that Spark loads in one file.

    This is optional. Run it once after the installation, for example when you build an image, and
    again after an upgrade of Java or PySpark. It takes about a minute, and 200 MB in the Python
    environment.
    """
    from scrub.app.prepare import prepare as prepare_starts

    with shown_progress() as on_progress:
        made = prepare_starts(on_progress=on_progress)
    size = f"{made.bytes / 1_000_000:,.0f} MB"
    show_prose(f"Spark now starts from {made.archive} ({size}); it may be deleted at any time.")
