# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, for whoever shows it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A moment of a run; rows count both sides, and the total may be an estimate."""

    phase: str  # "starting Spark", "comparing fingerprints", "naming defects", ...
    rows_done: int = 0
    rows_total: int | None = None
    seconds: float = 0.0


ProgressListener = Callable[[Progress], None]


def ignore_progress(_: Progress) -> None:
    """The listener of callers that do not care."""
