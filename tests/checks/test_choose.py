# SPDX-License-Identifier: Apache-2.0
"""Which buckets are looked into, and which indexes are joined in one job; no Spark is needed."""

import numpy as np
import pytest

from checks.bucket_sums import SlotSums
from checks.choose import SLOTS_PER_JOIN_JOB, differing_buckets, join_groups, union_of
from tests.checks.plans import a_plan, numbered


def sums(*differing: int) -> SlotSums:
    of_slot = SlotSums.empty(4)
    of_slot.buckets[list(differing), 0] = 1
    return of_slot


def test_an_index_that_agrees_is_not_looked_into() -> None:
    assert differing_buckets({0: sums()}, may_join_all=True) == {}


def test_only_buckets_that_differ_are_chosen() -> None:
    (chosen,) = differing_buckets({3: sums(1, 5)}, may_join_all=True).values()
    assert chosen is not None
    assert np.flatnonzero(chosen.flags).tolist() == [1, 5]


@pytest.mark.parametrize(("may_join_all", "is_all"), [(True, True), (False, False)])
def test_when_most_buckets_differ_everything_is_joined(may_join_all: bool, is_all: bool) -> None:
    chosen = differing_buckets({0: sums(*range(9))}, may_join_all=may_join_all)
    assert (chosen[0] is None) is is_all


def test_indexes_of_one_table_stay_together() -> None:
    plan = a_plan(*(f"i{n}" for n in range(SLOTS_PER_JOIN_JOB + 1)))
    slots, _, _ = numbered(plan)
    chosen = dict.fromkeys(range(len(slots)))
    assert [len(group) for group in join_groups(plan, slots, chosen)] == [len(slots)]
    assert not list(join_groups(plan, slots, {}))


def test_both_sides_of_a_join_are_cut_alike() -> None:
    plan = a_plan("one", "other")
    slots, _, _ = numbered(plan)
    chosen = differing_buckets({0: sums(1), 1: sums(2)}, may_join_all=True)
    union = union_of(plan.tables[0], slots, chosen)
    assert union is not None
    assert np.flatnonzero(union.flags).tolist() == [1, 2]
    assert union_of(plan.tables[0], slots, {**chosen, 1: None}) is None
