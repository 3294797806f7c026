# SPDX-License-Identifier: Apache-2.0
"""Primary keys, and stretches of them. Keys are compared in one order everywhere: as tuples."""

from dataclasses import dataclass
from typing import Any, TypeAlias

Key: TypeAlias = tuple[Any, ...]
"""A primary key without NULLs. Text is ordered by code points, as UTF-8 bytes are."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Keys from `low`, which belongs to it, to `high`, which does not; None means unbounded."""

    low: Key | None = None
    high: Key | None = None

    def holds(self, key: Key) -> bool:
        return (self.low is None or key >= self.low) and (self.high is None or key < self.high)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Keys of a slice behind `after`, up to `up_to`, which belongs to it.

    Without `after` it begins where the slice does; without `up_to` it ends where the slice does.
    """

    after: Key | None = None
    up_to: Key | None = None

    def holds(self, key: Key) -> bool:
        return (self.after is None or key > self.after) and (
            self.up_to is None or key <= self.up_to
        )
