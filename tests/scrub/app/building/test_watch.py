# SPDX-License-Identifier: Apache-2.0
"""How fast rows are loaded, told by whoever looks for a moment only."""

from types import SimpleNamespace
from typing import Any

import pytest

from scrub.app.building import watch as backfill_watch
from scrub.app.building.watch import rows_a_second


class Loading:
    """A build whose chunks end at known moments of a clock that only sleeping moves."""

    def __init__(self, *ends: tuple[float, int]) -> None:
        self.now = 0.0
        self.ends = ends

    def ranges(self, _record: Any) -> list[Any]:
        rows = max((rows for at, rows in self.ends if at <= self.now), default=0)
        return [SimpleNamespace(phase="load", rows=rows), SimpleNamespace(phase="by_v", rows=77)]

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("ends", "rate"),
    [
        (tuple((0.2 * n, 2_000 * n) for n in range(1, 20)), 10_000),
        (((0.25, 300_000), (2.25, 500_000)), 100_000),
        (((0.25, 300_000),), 100_000),  # over all the time: the chunk began long before
        ((), None),
    ],
    ids=["short chunks", "two long ones", "one long one", "nothing"],
)
def test_the_rate_is_that_of_whole_chunks(
    monkeypatch: pytest.MonkeyPatch, ends: tuple[tuple[float, int], ...], rate: float | None
) -> None:
    loading = Loading(*ends)
    monkeypatch.setattr(backfill_watch, "time", loading)
    found = rows_a_second(loading, None)  # type: ignore[arg-type]
    assert found == (rate if rate is None else pytest.approx(rate, rel=0.15))
    assert loading.now <= 3.2
