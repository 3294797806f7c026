# SPDX-License-Identifier: Apache-2.0
"""At least a row is read, however busy the upstream is, unless nothing may be read."""

from dataclasses import replace

from repair.streaming.choosing import choose_parts
from repair.streaming.cutting import cut
from scrub.model.stream.coverage import MustCover
from scrub.model.stream.prefix_coverage import PrefixCoverage
from tests.repair.streaming.made import shows

COVERAGE = PrefixCoverage()


def test_no_more_rows_are_asked_for_than_are_allowed() -> None:
    vnodes = cut([(1,), (2,), (3,)])
    for rows_max in range(1, 12):
        choice = choose_parts(vnodes, shows(0), COVERAGE, parallel=3, rows_max=rows_max)
        assert 1 <= len(choice.wanted) <= 3
        assert all(wanted.rows_max >= 1 for wanted in choice.wanted)
        assert sum(wanted.rows_max for wanted in choice.wanted) <= rows_max


def test_a_vnode_that_waits_for_a_newer_snapshot_holds_up_no_other() -> None:
    first, second, third = cut([(1,), (2,)])
    vnodes = [replace(first, must_cover=MustCover({"": (7,)})), second, third]
    choice = choose_parts(vnodes, shows(6), COVERAGE, parallel=1, rows_max=1)
    assert [wanted.vnode for wanted in choice.wanted] == [1]
    assert choice.waiting == (0,)
    choice = choose_parts(vnodes, shows(7), COVERAGE, parallel=1, rows_max=1)
    assert [wanted.vnode for wanted in choice.wanted] == [0]
    assert choice.waiting == ()


def test_no_row_is_read_during_a_pause() -> None:
    choice = choose_parts(cut([]), shows(0), COVERAGE, parallel=2, rows_max=0)
    assert choice.wanted == ()
