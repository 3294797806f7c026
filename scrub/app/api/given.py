# SPDX-License-Identifier: Apache-2.0
"""What callers give for options: refused as the commands refuse it, with a UsageError."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from scrub.errors import UsageError
from scrub.model.pace import parse_rate
from scrub.model.request import AsOf, SparkOptions, parse_as_of
from scrub.whole_files import in_existing_folder

Given = TypeVar("Given")
Meant = TypeVar("Meant")
Names = Sequence[str] | str
GivenAsOf = AsOf | str | int

LEAST: Mapping[str, float] = {
    "limit": 0,
    "settle_seconds": 0,
    "max_changes": 0,
    "max_fraction": 0,
    "rows_per_second": 1,
    "wait_limit": 0,
    "parallel": 1,
    "chunk_seconds": 0.01,
    "from_version": 0,
}
"""The least number for each option that is one."""


def demand_in_range(**numbers: float | None) -> None:
    """Refuse numbers that the commands would refuse."""
    for name, number in numbers.items():
        if number is not None and (not math.isfinite(number) or number < LEAST[name]):
            raise UsageError(f"{name} is {number}, and must be at least {LEAST[name]:g}")


def names_of(given: Names) -> tuple[str, ...]:
    """One name, or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def meant(option: str, meaning: Callable[[Given], Meant], given: Given) -> Meant:
    """A value read as the option reads it; what is wrong with it is said of the option."""
    try:
        return meaning(given)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def as_of_each(given: GivenAsOf | Iterable[GivenAsOf]) -> tuple[AsOf, ...]:
    """Versions and moments, in any spelling that `--as-of` takes."""
    several = [given] if isinstance(given, AsOf | str | int) else given
    return tuple(one if isinstance(one, AsOf) else parse_as_of(str(one)) for one in several)


def rate_of(bytes_per_second: int | str | None) -> int | None:
    """Bytes a second, as a number or as the commands take them."""
    if bytes_per_second is None:
        return None
    return meant("bytes_per_second", parse_rate, str(bytes_per_second))


def pause_file_of(path: Path | str | None) -> Path | None:
    """The file of a pause, whose folder is there."""
    return None if path is None else meant("pause_file", in_existing_folder, Path(path))


def spark_options_of(
    master: str | None, remote: str | None, conf: Mapping[str, str | float] | None, verbose: bool
) -> SparkOptions:
    """How to start a session where none is given and none is active."""
    if master and remote:
        raise UsageError("master and remote exclude each other: use one of the two")
    told = tuple((key, _setting(value)) for key, value in (conf or {}).items())
    return SparkOptions(master=master, remote=remote, conf=told, verbose=verbose)


def _setting(value: str | float) -> str:
    """A value as a command line would have it, where True is written `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
