# SPDX-License-Identifier: Apache-2.0
"""Reads what the user typed after an option; a mistake is answered before anything starts."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from scrub.errors import UsageError

Typed = TypeVar("Typed")
Meant = TypeVar("Meant")


def read_as(
    meaning: Callable[[Typed], Meant],
) -> Callable[[click.Context, click.Parameter, Typed | None], Meant | None]:
    """A click callback for an option; a ValueError of `meaning` tells the user what is wrong."""

    def callback(_: click.Context, parameter: click.Parameter, typed: Typed | None) -> Meant | None:
        try:
            return None if typed is None else meaning(typed)
        except ValueError as error:
            raise UsageError(f"{max(parameter.opts, key=len)}: {error}") from error

    return callback


def read_names(
    context: click.Context, parameter: click.Parameter, typed: str | None
) -> tuple[str, ...]:
    """A click callback for names of checks; none where the option is not given."""
    return read_as(check_names)(context, parameter, typed) or ()


def each(meaning: Callable[[str], Meant]) -> Callable[[tuple[str, ...]], tuple[Meant, ...]]:
    """The same for an option that may be repeated."""
    return lambda typed: tuple(map(meaning, typed))


def seconds(number: float) -> float:
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"'{number}' is not a duration in seconds")
    return number


def spark_setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not (key and separator):
        raise ValueError(f"'{text}' is not of the form K=V")
    return key, value


def check_names(text: str) -> tuple[str, ...]:
    from scrub.app.selection import known_checks

    return known_checks([name.strip() for name in text.split(",")], "--checks")


def place_of_docs(directory: Path) -> Path:
    """A directory for Data Docs, which is refused before an hour's work if it cannot be written."""
    from scrub.gx.docs_place import require_place

    require_place(directory)
    return directory
