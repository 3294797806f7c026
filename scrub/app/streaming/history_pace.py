# SPDX-License-Identifier: Apache-2.0
"""How many rows of the history an epoch reads.

So many that it takes about as long as it should, and no more than the rate allows: rows are paid
for afterwards, in epochs that read none while changes go on.
"""

from dataclasses import dataclass

ROWS_MIN, ROWS_FIRST, ROWS_MAX = 10, 1_000, 200_000
_FASTER_AT_MOST = 2.0
_SLOWER_AT_MOST = 0.25


@dataclass(slots=True)
class HistoryPace:
    """Of one run; times are those of a monotonic clock."""

    epoch_seconds: float
    rows: int = ROWS_FIRST
    paid_at: float = float("-inf")

    def rows_now(self, now: float, rows_per_second: int | None) -> int:
        """How many rows may be read now; 0 while what was read before is not paid for."""
        if rows_per_second is None:
            return self.rows
        if now < self.paid_at:
            return 0
        return max(1, min(self.rows, int(rows_per_second * self.epoch_seconds)))

    def took(self, began: float, ended: float, rows: int, rows_per_second: int | None) -> None:
        """An epoch has read so many rows; the next ones are to take as long as they should."""
        if not rows:
            return
        if rows_per_second is not None:
            # An epoch's worth of credit: they do not begin just when something was paid for.
            since = max(self.paid_at, began - self.epoch_seconds)
            self.paid_at = since + rows / rows_per_second
        factor = self.epoch_seconds / max(ended - began, 0.001)
        factor = min(_FASTER_AT_MOST, max(_SLOWER_AT_MOST, factor))
        if rows >= self.rows or factor < 1:
            self.rows = max(ROWS_MIN, min(ROWS_MAX, int(self.rows * factor)))
