# SPDX-License-Identifier: Apache-2.0
"""Of rows in differing buckets, those that agree are left out, and none that does not."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checks.finer_sums import FinerSums
from checks.scan_spec import ACTUAL, EXPECTED
from scrub.codec.digest import RowDigests, Salt

SALT = Salt(3, 5)

entries = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=60)


def digests(side: list[tuple[int, int]]) -> tuple[RowDigests, RowDigests]:
    """Of the keys, and of the whole entries."""
    columns = [pa.array([entry[i] for entry in side], pa.int64()) for i in (0, 1)]
    keys = RowDigests.start(len(side), SALT).fold(columns[:1], SALT)
    return keys, keys.fold(columns[1:], SALT)


@given(expected=entries, actual=entries)
def test_every_key_that_disagrees_is_kept(
    expected: list[tuple[int, int]], actual: list[tuple[int, int]]
) -> None:
    sums = FinerSums.of_rows(max(len(expected), len(actual)))
    for side, sign in ((expected, EXPECTED), (actual, ACTUAL)):
        keys, whole = digests(side)
        sums.add(keys.first, whole, sign)
    differing = Counter(expected)
    differing.subtract(Counter(actual))
    wanted = {key for (key, _), balance in differing.items() if balance}
    for side in (expected, actual):
        kept = sums.disagree(digests(side)[0].first)
        assert {key for (key, _), is_kept in zip(side, kept, strict=True) if is_kept} >= (
            wanted & {key for key, _ in side}
        )


def test_hardly_a_row_that_agrees_is_kept() -> None:
    side = [(key, 0) for key in range(10_000)]
    keys, whole = digests(side)
    sums = FinerSums.of_rows(len(side))
    sums.add(keys.first, whole, EXPECTED)
    there = np.ones(len(side), np.bool_)
    there[:10] = False
    sums.add(keys.first, whole, ACTUAL, there)
    kept = sums.disagree(keys.first)
    assert kept[:10].all()
    assert 10 <= kept.sum() < 40


def test_rows_that_are_not_chosen_do_not_count() -> None:
    keys, whole = digests([(1, 0), (2, 0)])
    sums = FinerSums.of_rows(2)
    sums.add(keys.first, whole, EXPECTED, np.array([False, False]))
    assert not sums.disagree(keys.first).any()
