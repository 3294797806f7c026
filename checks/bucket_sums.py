# SPDX-License-Identifier: Apache-2.0
"""The driver's sums: what every bucket holds on both sides, added up over the parts of a scan."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SlotSums:
    """One index: counts of both sides, and the differences of both digest sums, per bucket."""

    expected: NDArray[np.int64]
    actual: NDArray[np.int64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]

    @classmethod
    def empty(cls, bucket_bits: int) -> "SlotSums":
        size = 1 << bucket_bits
        return cls(
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.uint64),
            np.zeros(size, dtype=np.uint64),
        )

    def differing(self) -> NDArray[np.bool_]:
        """The buckets in which table and index disagree."""
        differing: NDArray[np.bool_] = (
            (self.expected != self.actual) | (self.first != 0) | (self.second != 0)
        )
        return differing

    def add(self, sums: pa.Table) -> None:
        """Add sums of distinct buckets, as the fingerprint job returns them."""
        columns = {name: sums.column(name).to_numpy() for name in sums.column_names}
        bucket = columns["bucket"]
        self.expected[bucket] += columns["expected"]
        self.actual[bucket] += columns["actual"]
        for which, total in (("first", self.first), ("second", self.second)):
            high = columns[f"{which}_high"].astype(np.uint64)  # negative numbers wrap, as they must
            total[bucket] += (high << np.uint64(32)) + columns[f"{which}_low"].astype(np.uint64)


@dataclass(slots=True)
class RunSums:
    """All indexes of a run."""

    slots: dict[int, SlotSums] = field(default_factory=dict)

    def add(self, fingerprints: pa.Table) -> None:
        slot_of_row = fingerprints.column("slot").to_numpy()
        numbers = fingerprints.drop_columns(["slot"])
        for slot, sums in self.slots.items():
            chosen = np.flatnonzero(slot_of_row == slot)
            if len(chosen):
                sums.add(numbers.take(chosen))
