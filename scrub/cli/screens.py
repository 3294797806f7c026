# SPDX-License-Identifier: Apache-2.0
"""The screens of a command: how wide they are, whether they have colours, and writing to them."""

import os
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

import click

from reports.screen import PAPER, Screen
from reports.wrapping import wrapped

_WIDTH_UNKNOWN = 80
_WIDTH_MIN = 40  # narrower, nothing can be read; then the terminal may wrap
_KEY = "scrub.color"


def _remember(context: click.Context, _: click.Parameter, choice: str) -> str:
    context.meta[_KEY] = choice
    return choice


color = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    expose_value=False,
    callback=_remember,
    help="Colours: auto has them on a terminal, unless NO_COLOR is set.",
)


def output_screen() -> Screen:
    """Standard output, as `--color` wants it."""
    context = click.get_current_context(silent=True)
    choice = context.meta.get(_KEY, "auto") if context else "auto"
    return screen_of(sys.stdout, choice)


def error_screen() -> Screen:
    """Standard error, which has no colours of ours."""
    return replace(screen_of(sys.stderr), colour=False)


def screen_of(stream: TextIO, choice: str = "auto") -> Screen:
    """A terminal is as wide as it is; a file or a pipe takes everything."""
    is_terminal = stream.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Screen(
        width=terminal_width(stream) if is_terminal else PAPER.width,
        colour=choice == "always" or (choice == "auto" and is_terminal and not plain),
    )


def terminal_width(stream: TextIO) -> int:
    """What the user says with COLUMNS, or what the terminal says."""
    told = os.environ.get("COLUMNS", "")
    width = int(told) if told.isascii() and told.isdigit() else 0
    with suppress(OSError):
        width = width or os.get_terminal_size(stream.fileno()).columns
    return max(width or _WIDTH_UNKNOWN, _WIDTH_MIN)


def show(text: str, *, newline: bool = True) -> None:
    """Print what was rendered for the output screen; click would take the colours out of pipes."""
    click.echo(text, nl=newline, color=output_screen().colour)


def show_prose(text: str) -> None:
    """Print sentences, wrapped at words."""
    show(wrapped(text, output_screen()))


def tell(line: str) -> None:
    """Print a sentence to standard error, wrapped at words; data in it is spelled out."""
    from reports.escaping import printable_line

    click.echo(wrapped(printable_line(line), error_screen()), err=True)
