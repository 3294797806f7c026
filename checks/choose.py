# SPDX-License-Identifier: Apache-2.0
"""The stage after the scan: which buckets to look into, and of which indexes in one job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checks.bucket_sums import SlotSums
from checks.numbering import Slot
from scrub.model.plan import CheckPlan, TablePlan

JOIN_ALL_FRACTION = 0.5  # when more buckets than this differ, joining everything is cheaper
SLOTS_PER_JOIN_JOB = 6


@dataclass(frozen=True, slots=True)
class ChosenBuckets:
    """Which buckets to read again."""

    flags: NDArray[np.bool_]

    @property
    def bitmap(self) -> NDArray[np.uint8]:
        return np.packbits(self.flags, bitorder="little")


Chosen = Mapping[int, ChosenBuckets | None]
"""For each index that differs, the buckets to look into; None means all of them."""


def every_bucket(bits: int) -> ChosenBuckets:
    """All buckets of a table, where those who read want to be told of each."""
    return ChosenBuckets(np.ones(1 << bits, dtype=np.bool_))


def differing_buckets(sums: Mapping[int, SlotSums], *, may_join_all: bool) -> Chosen:
    """What to join of the indexes whose fingerprints were added up."""
    chosen: dict[int, ChosenBuckets | None] = {}
    for number, of_slot in sums.items():
        differing = of_slot.differing()
        if not differing.any():
            continue
        join_all = may_join_all and differing.mean() > JOIN_ALL_FRACTION
        chosen[number] = None if join_all else ChosenBuckets(differing)
    return chosen


def join_groups(plan: CheckPlan, slots: Sequence[Slot], chosen: Chosen) -> Iterator[list[Slot]]:
    """Indexes to join in one job; those of one table stay together, to share its rows."""
    group: list[Slot] = []
    for table in plan.tables:
        of_table = [slot for slot in slots if slot.table is table and slot.number in chosen]
        if group and len(group) + len(of_table) > SLOTS_PER_JOIN_JOB:
            yield group
            group = []
        group += of_table
    if group:
        yield group


def union_of(table: TablePlan, slots: Sequence[Slot], chosen: Chosen) -> ChosenBuckets | None:
    """The buckets to read of a table and its indexes: all that any of them differs in.

    Both sides of a join must be cut alike, so every relation of a table uses the same union.
    """
    union: ChosenBuckets | None = None
    for slot in slots:
        if slot.table is not table:
            continue
        of_slot = chosen[slot.number]
        if of_slot is None:
            return None
        union = ChosenBuckets(of_slot.flags if union is None else union.flags | of_slot.flags)
    return union
