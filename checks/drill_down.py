# SPDX-License-Identifier: Apache-2.0
"""After the fingerprints: which buckets to look into, and of which indexes in one job."""

from collections.abc import Iterator, Mapping, Sequence

from checks.bucket_sums import SlotSums
from checks.row_frames import ChosenBuckets
from checks.slots import Slot
from scrub.model.plan import CheckPlan
from scrub.model.request import Strategy

JOIN_ALL_FRACTION = 0.5  # when more buckets than this differ, joining everything is cheaper
SLOTS_PER_JOIN_JOB = 6

Chosen = Mapping[int, ChosenBuckets | None]
"""For each index that differs, the buckets to look into; None means all of them."""


def differing_buckets(
    sums: Mapping[int, SlotSums], strategy: Strategy
) -> dict[int, ChosenBuckets | None]:
    """What to join of the indexes whose fingerprints were added up."""
    chosen: dict[int, ChosenBuckets | None] = {}
    for number, of_slot in sums.items():
        differing = of_slot.differing()
        if not differing.any():
            continue
        too_many = differing.mean() > JOIN_ALL_FRACTION
        all_of_them = too_many and strategy is Strategy.AUTO
        chosen[number] = None if all_of_them else ChosenBuckets(differing)
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
