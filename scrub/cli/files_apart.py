# SPDX-License-Identifier: Apache-2.0
"""Refuses to write one file over another that the same command reads or writes."""

from collections.abc import Mapping
from pathlib import Path

import click


def demand_apart(written: Mapping[str, Path | None], read: Mapping[str, Path | None]) -> None:
    """Refuse a file that is written twice, or over something that was read; the keys name them."""
    taken: dict[Path, str] = {}
    for what, path in [*read.items(), *written.items()]:
        if path is None or (path.exists() and not path.is_file()):
            continue  # a device or a pipe may serve twice
        other = taken.setdefault(path.resolve(), what)
        if other != what and what in written:
            raise click.UsageError(f"{what} would overwrite {path}, which is {other}")
