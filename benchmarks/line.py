# SPDX-License-Identifier: Apache-2.0
"""One line of the printed table: a measurement, what it is set in proportion to, and its target."""

from dataclasses import dataclass
from typing import Literal

from benchmarks.checking import CORES
from benchmarks.timing import Timing


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for a ratio."""

    sign: Literal["<=", ">=", "="]
    bound: float

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"

    def is_met(self, ratio: float) -> bool:
        match self.sign:
            case "<=":
                return ratio <= self.bound
            case ">=":
                return ratio >= self.bound
            case "=":
                return ratio == self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement; one without a target is information."""

    measurement: str
    timing: Timing | None = None
    beside: Timing | None = None  # what it is set in proportion to
    rows: int | None = None  # of the table, to tell the rate
    ratio: float | None = None
    target: Target | None = None
    completes: bool | None = None  # for one whose target is to come to its end
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.completes is not None:
            return self.completes
        if self.target is None or self.ratio is None:
            return None
        return self.target.is_met(self.ratio)

    @property
    def disturbance(self) -> float:
        return max((t.disturbance for t in (self.timing, self.beside) if t), default=0.0)

    @property
    def rows_per_second_and_core(self) -> float | None:
        if self.timing is None or self.rows is None:
            return None
        return self.rows / self.timing.median / CORES


def proportion(
    measurement: str, timing: Timing, beside: Timing, target: Target | None, note: str = ""
) -> Line:
    """One timing divided by another."""
    return Line(
        measurement=measurement,
        timing=timing,
        beside=beside,
        ratio=timing.median / beside.median,
        target=target,
        note=note,
    )


def mebibytes(size: int) -> str:
    """A size as notes show it."""
    return f"{size / 2**20:,.0f} MiB"
