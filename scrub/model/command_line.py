# SPDX-License-Identifier: Apache-2.0
"""Command lines that messages suggest, written so that they can be pasted into a shell."""

import shlex
from pathlib import Path

from scrub.model.table import Table

DEFAULT_CATALOG = Path("scrub.yaml")


def command_line(words: str, *values: str, catalog: Path | None = None) -> str:
    """A command of scrub, as in `command_line("undo", run)`; its values are quoted for a shell.

    The catalog is named unless it is the one that scrub takes anyway. None is for commands that
    have none, and for those that a store keeps for readers who may be anywhere.
    """
    chosen = [] if catalog in (None, DEFAULT_CATALOG) else ["--catalog", str(catalog)]
    return shlex.join(["scrub", *words.split(), *values, *chosen])


def check_line(table: Table, *more: str) -> str:
    return command_line("check table", table.name, *more, catalog=table.catalog)


def backfill_line(verb: str, table: Table, *more: str) -> str:
    """A command of `scrub backfill` for a table, or for the indexes of it that are named."""
    return command_line(f"backfill {verb}", table.name, *more, catalog=table.catalog)


def follow_line(table: Table, index: str = "INDEX", version: str = "VERSION") -> str:
    """The command that has an index follow which does not yet."""
    return command_line("index follow", table.name, index, "--from", version, catalog=table.catalog)
