# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from repair.streaming.cutting import cut, split
from repair.streaming.epoch import end_epoch
from repair.streaming.progress import WHOLE, progress
from scrub.model.stream.prefix_coverage import PrefixCoverage
from tests.repair.streaming.made import a_state, heard, part, shows


def test_it_is_whole_only_when_every_vnode_is_finished() -> None:
    first, second = cut([(5,)], rows_expected=10)
    done = replace(first, is_finished=True)
    more_than_expected = replace(second, rows_read=1000)
    assert progress([done, second]) == WHOLE // 2
    assert progress([done, more_than_expected]) == WHOLE - 1
    assert progress([done, replace(second, is_finished=True)]) == WHOLE


def test_a_table_without_rows_is_whole_when_it_is_read() -> None:
    assert progress(cut([])) < WHOLE
    assert progress([replace(cut([])[0], is_finished=True)]) == WHOLE


def test_it_never_goes_back_when_a_vnode_is_split() -> None:
    state = a_state(rows=10)
    rows = part(*(((key,), ()) for key in range(6)))
    ended = end_epoch(state, heard(), PrefixCoverage(), snapshot=shows(0), parts=[rows])
    assert ended.state.progress_shown == WHOLE * 6 // 10
    longer = [replace(v, rows_expected=10_000) for v in split(ended.state.vnodes, (8,))]
    after = end_epoch(replace(ended.state, vnodes=tuple(longer)), heard(), PrefixCoverage())
    assert progress(longer) < ended.state.progress_shown == after.state.progress_shown
