# SPDX-License-Identifier: Apache-2.0
"""Groups of commands, which answer a wrong command with the one that is meant."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from scrub.model.command_line import DEFAULT_CATALOG


class Group(click.Group):
    """Commands, one of which may be for tables: it is meant where it was left out.

    `scrub check orders` says nothing else than `scrub check table orders`, but is not understood:
    a table that is called like a command would change what it means.
    """

    def __init__(self, *given: Any, for_tables: str | None = None, **options: Any) -> None:
        super().__init__(*given, **options)
        self.for_tables = for_tables

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            self._refuse(ctx, args)
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: click.Context, args: Sequence[str]) -> NoReturn:
        from scrub.catalog.spelling import closest, did_you_mean
        from scrub.cli.catalog_names import names_in
        from scrub.errors import UsageError

        typed, *others = args
        commands = self.list_commands(ctx)
        tables = names_in(_catalog_of(args)) if self.for_tables else {}
        hint = did_you_mean(typed, commands, "commands")
        meant = closest(typed, [*tables, *commands])
        if meant in tables and self.for_tables and meant is not None:
            line = shlex.join([*ctx.command_path.split(), self.for_tables, meant, *others])
            hint = f"did you mean {line}?"
        raise UsageError(f"{ctx.command_path} has no command {typed}", hint=hint)


def _catalog_of(args: Sequence[str]) -> Path:
    """The catalog that a line names, which nothing has parsed yet."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        if word == "--catalog" and following:
            return Path(following)
        if word.startswith("--catalog="):
            return Path(word.removeprefix("--catalog="))
    return DEFAULT_CATALOG
