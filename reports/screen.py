# SPDX-License-Identifier: Apache-2.0
"""What a report is written for: a terminal of some width, or a file or pipe that takes anything."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """How wide a line may be, in columns of a terminal, and whether there are colours."""

    width: int | None = None  # None: no limit, nothing is cut or wrapped
    colour: bool = False


PAPER = Screen()
"""A file or a pipe: whole values, whole lines, no colours."""
