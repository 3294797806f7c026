# SPDX-License-Identifier: Apache-2.0
"""The driver's sums: what every bucket holds on both sides, added up over the parts of a scan."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.task_sums import CHUNK_BUCKETS, BucketSums, sums_of


@dataclass(frozen=True, slots=True)
class SlotSums:
    """One index: counts of both sides, and the differences of both digest sums, per bucket."""

    buckets: BucketSums

    @classmethod
    def empty(cls, bucket_bits: int) -> "SlotSums":
        return cls(np.zeros((1 << bucket_bits, 4), dtype=np.uint64))

    @property
    def expected(self) -> int:
        return int(self.buckets[:, 0].sum())

    @property
    def actual(self) -> int:
        return int(self.buckets[:, 1].sum())

    def differing(self) -> NDArray[np.bool_]:
        """The buckets in which table and index disagree."""
        expected, actual, first, second = self.buckets.T
        differing: NDArray[np.bool_] = (expected != actual) | (first != 0) | (second != 0)
        return differing

    def add_piece(self, chunk: int, octets: bytes) -> None:
        """Add what a task of the native engine summed up for one chunk of the buckets."""
        piece = sums_of(octets)
        start = chunk * CHUNK_BUCKETS
        self.buckets[start : start + len(piece)] += piece

    def add_rows(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        """Add what Spark SQL summed up, one row a bucket and relation."""
        halves = {name: column.astype(np.uint64) for name, column in columns.items()}
        numbers = (
            halves["expected"],
            halves["actual"],
            # Negative numbers have wrapped, as they must.
            (halves["first_high"] << np.uint64(32)) + halves["first_low"],
            (halves["second_high"] << np.uint64(32)) + halves["second_low"],
        )
        np.add.at(self.buckets, columns["bucket"], np.stack(numbers, axis=1))


@dataclass(slots=True)
class RunSums:
    """All indexes of a run."""

    slots: dict[int, SlotSums] = field(default_factory=dict)

    def add_rows(self, fingerprints: pa.Table) -> None:
        """Add what a job of Spark SQL found."""
        columns = {name: fingerprints.column(name).to_numpy() for name in fingerprints.column_names}
        slot_of_row = columns.pop("slot")
        for slot, sums in self.slots.items():
            chosen = slot_of_row == slot
            if chosen.any():
                sums.add_rows({name: column[chosen] for name, column in columns.items()})
