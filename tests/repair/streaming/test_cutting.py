# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.streaming.cutting import cut, split
from repair.streaming.passing import has_passed
from scrub.model.stream.coverage import MustCover
from scrub.model.stream.keys import Slice, Stretch
from scrub.model.stream.vnodes import Floor, Vnode
from tests.repair.streaming.made import shows

KEYS = [(key,) for key in range(12)]


@given(st.sets(st.sampled_from(KEYS)), st.integers(0, 1000))
def test_every_key_is_in_one_vnode_and_every_row_is_expected_once(
    bounds: set[tuple[int]], rows: int
) -> None:
    vnodes = cut(sorted(bounds), rows)
    assert sum(vnode.rows_expected for vnode in vnodes) == rows
    for key in KEYS:
        assert sum(vnode.slice.holds(key) for vnode in vnodes) == 1


@pytest.mark.parametrize("passed_to", [None, *range(12)])
@pytest.mark.parametrize("at", range(1, 11))
@pytest.mark.parametrize("is_finished", [False, True])
def test_a_split_changes_nothing_about_any_key(
    passed_to: int | None, at: int, is_finished: bool
) -> None:
    whole = Vnode(
        slice=Slice(None, (11,)),
        passed_to=None if passed_to is None else (passed_to,),
        is_finished=is_finished,
        floors=(Floor(Stretch(None, (4,)), shows(3)),),
        must_cover=MustCover({"": (5,)}),
    )
    halves = split([whole], (at,))[:2]
    for half in halves:
        assert (half.floors, half.must_cover) == (whole.floors, whole.must_cover)
    for key in KEYS[:11]:
        (half,) = [half for half in halves if half.slice.holds(key)]
        assert has_passed(half, key) == has_passed(whole, key)


def test_nothing_is_split_where_a_vnode_begins() -> None:
    vnodes = cut([(3,)])
    assert split(vnodes, (3,)) == vnodes
    assert len(split([replace(vnodes[0])], (1,))) == 2
