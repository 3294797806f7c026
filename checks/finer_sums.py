# SPDX-License-Identifier: Apache-2.0
"""Sums like those of buckets, in so many places that hardly two keys share one.

Of the rows of differing buckets, those in places whose sums agree need not be looked at. A row that
shares its place with one that disagrees is kept without need, which costs time only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checks.bucket_sums import SlotSums
from checks.scan_spec import EXPECTED
from scrub.codec.digest import RowDigests
from scrub.codec.lazily import xxh64
from scrub.codec.words import Digests

_BITS_MIN, _BITS_MAX = 4, 20
_EVERY_ROW = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class FinerSums:
    """The sums of one index; a key's place is told by the last bits of its digest."""

    bits: int
    sums: SlotSums

    @classmethod
    def of_rows(cls, rows: int) -> "FinerSums":
        """With about as many places as there are rows to be added."""
        bits = min(max(rows.bit_length(), _BITS_MIN), _BITS_MAX)
        return cls(bits, SlotSums.empty(bits))

    def add(
        self,
        keys: Digests,
        rows: RowDigests,
        sign: int,
        chosen: NDArray[np.bool_] = _EVERY_ROW,
    ) -> None:
        """Add rows that are expected, or take away those that are there."""
        # The first bits are no help: they say the bucket, which a few buckets' rows have in common.
        shift = 64 - self.bits
        xxh64.add_to_buckets(
            keys << np.uint64(shift),
            shift,
            chosen,
            rows.first,
            rows.second,
            sign == EXPECTED,
            self.sums.buckets,
        )

    def disagree(self, keys: Digests) -> NDArray[np.bool_]:
        """Which of some keys are where the sums differ."""
        found: NDArray[np.bool_] = self.sums.differing()[
            (keys & np.uint64((1 << self.bits) - 1)).astype(np.int64)
        ]
        return found
