# SPDX-License-Identifier: Apache-2.0
"""Each rule of a stream is needed: one interleaving each, which goes wrong without that rule.

The interleaving is of the class of source that needs the rule; docs/streaming.md names the class.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from repair.streaming.running import Pace
from scrub.model.stream.keys import Key
from tests.repair.streaming.left_out import RULES, leaving_out
from tests.repair.streaming.model_stream import DISORDER, Difference, ModelStream
from tests.repair.streaming.model_upstream import Upstream

Found = dict[Key, Any]


class Killed(Exception):
    """The process is gone."""


class Scene(ModelStream):
    """A stream that does what it is told, one row an epoch."""

    def __init__(self, *keys: int, has_order: bool = True, **upstream: Any) -> None:
        self.happens: dict[str, Callable[[], object]] = {}
        super().__init__(
            Upstream({(key,): ("first", "long") for key in keys}, **upstream),
            shuffle=None if has_order else Random(0),
            moment=self._arrive,
            pace=Pace(parallel=1, rows_max=1),
        )

    def _arrive(self, where: str) -> None:
        self.happens.pop(where, lambda: None)()

    def kill_at(self, where: str) -> None:
        def kill() -> None:
            raise Killed

        self.happens[where] = kill

    def write(self, *writes: tuple[object, ...], hold: bool = False) -> None:
        """One transaction each."""
        for write in writes:
            self.upstream.commit(write, hold=hold)

    def epoch(self, times: int = 1) -> None:
        for _ in range(times):
            try:
                self.run.epoch()
            except Killed:
                self.happens.clear()
                self.start()

    def end(self) -> Found:
        self.settle()
        self.demand_what_is_claimed()
        return self.differences()


def goes_wrong_without(rule: str, interleaving: Callable[[], Found]) -> None:
    assert not interleaving(), "with all rules"
    with leaving_out(rule):
        try:
            found: object = interleaving()
        except Difference as difference:
            found = difference
    assert found


def read_to_the_end(*keys: int, **options: Any) -> Scene:
    scene = Scene(*keys, **options)
    scene.start()
    scene.settle()
    return scene


def test_a_commit_that_no_snapshot_shows_yet_is_not_covered() -> None:
    def interleaving() -> Found:
        scene = Scene(1, shows_transactions=True)
        scene.start()
        scene.write(("put", 1, "new"), hold=True)
        scene.source.deliver = 0
        scene.epoch(2)  # the log is behind the commit, the snapshot is not
        return scene.end()

    goes_wrong_without("coverage is asked of the source", interleaving)


def test_history_is_not_read_from_before_the_start() -> None:
    def interleaving() -> Found:
        scene = Scene(1)
        scene.write(("put", 5, "new"))
        scene.upstream.version = 0
        scene.start()
        scene.epoch(3)
        return scene.end()

    goes_wrong_without("history covers everything before the start", interleaving)


def test_what_was_held_at_the_start_is_waited_for() -> None:
    def interleaving() -> Found:
        scene = Scene(1, shows_transactions=True)
        scene.write(("put", 5, "new"), hold=True)
        scene.start()
        scene.epoch(3)
        return scene.end()

    goes_wrong_without("history covers everything before the start", interleaving)


def test_a_change_between_the_snapshot_and_the_barrier_is_applied() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 2)
        scene.start()
        scene.happens["snapshot taken"] = lambda: scene.write(("delete", 1))
        scene.epoch()
        return scene.end()

    goes_wrong_without("changes are judged at the barrier", interleaving)


def test_a_deletion_before_its_place_is_not_undone_by_an_old_snapshot() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 5)
        scene.start()
        scene.write(("delete", 5))
        scene.epoch()  # reads 1 and hears of the deletion
        scene.upstream.version = 0
        scene.epoch(2)
        return scene.end()

    goes_wrong_without("what was not passed is dropped", interleaving)


def test_a_row_that_moves_ahead_leaves_its_place() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 9)
        scene.start()
        scene.epoch()
        scene.write(("move", 1, 12))
        return scene.end()

    goes_wrong_without("the places of a key change are judged apart", interleaving)


def test_a_row_behind_the_last_one_is_in_the_slice() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1)
        scene.write(("put", 9, "new"))
        return scene.end()

    goes_wrong_without("a finished vnode has passed its whole slice", interleaving)


def test_a_late_insertion_is_covered_by_the_floor() -> None:
    """Its deletion came first and was dropped. Sources without order need this."""

    def interleaving() -> Found:
        scene = Scene(1, has_order=False)
        scene.start()
        scene.write(("put", 3, "new"), ("delete", 3))
        scene.source.say((2, 1))
        scene.epoch()  # reads 1, drops the deletion
        scene.epoch()  # reads to the end: 3 is not there
        scene.source.say((1, 1))
        return scene.end()

    goes_wrong_without("passed places have a floor", interleaving)


def test_an_update_without_its_long_value_is_covered_by_the_floor() -> None:
    """The row it belongs to is gone from the snapshot. Ordered sources that omit values need it."""

    def interleaving() -> Found:
        scene = Scene(1)
        scene.start()
        scene.write(("note", 1, "new"), ("delete", 1))
        scene.source.deliver = 0
        scene.epoch()
        scene.source.deliver = 1
        scene.epoch()
        return scene.end()

    goes_wrong_without("passed places have a floor", interleaving)


def test_a_long_value_that_moves_to_a_passed_place_is_read_again() -> None:
    """Its row was not read yet, so nobody has the value that the change leaves out."""

    def interleaving() -> Found:
        scene = Scene(5, 9)
        scene.start()
        scene.epoch()
        scene.write(("move short", 9, 1))
        return scene.end()

    goes_wrong_without("a row that nobody has is read again", interleaving)


def test_entries_do_not_step_back_where_there_is_a_floor() -> None:
    """On an ordered source with whole rows, this is all that a floor is for."""
    seen = []
    scene = Scene(1)
    scene.start()
    scene.write(("put", 1, "second"), ("put", 1, "third"))
    scene.source.deliver = 0
    scene.epoch()
    scene.source.deliver = 1
    for _ in range(2):
        scene.epoch()
        seen.append(scene.sink.output[(1,)][0])
    assert seen == ["third", "third"]


def test_an_old_snapshot_is_not_read_after_a_change_was_dropped() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 5)
        scene.start()
        scene.write(("put", 5, "new"))
        scene.epoch()
        scene.upstream.version = 0
        scene.epoch(2)
        return scene.end()

    goes_wrong_without("what was dropped must be covered", interleaving)


def test_a_commit_that_was_dropped_and_is_not_visible_is_waited_for() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 5, shows_transactions=True)
        scene.start()
        scene.write(("put", 5, "new"), hold=True)
        scene.epoch(3)
        assert scene.run.waiting == (0,) or scene.run.state.is_read
        return scene.end()

    goes_wrong_without("what was dropped must be covered", interleaving)


def test_a_snapshot_that_goes_back_after_a_newer_one_is_not_read() -> None:
    """An upstream of several servers, of which one lags."""

    def interleaving() -> Found:
        scene = Scene(1, 5, 7)
        scene.start()
        scene.write(("put", 7, "new"))
        scene.epoch()  # reads 1, drops the change
        scene.epoch()  # reads 5 at a snapshot that shows it
        scene.upstream.version = 0
        scene.epoch(2)
        return scene.end()

    goes_wrong_without("must-cover lasts until the vnode is finished", interleaving)


def test_a_change_that_is_said_again_does_not_falsify_the_position() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1)
        scene.write(("put", 1, "second"), ("put", 1, "third"))
        scene.kill_at("acknowledge")
        scene.epoch()
        scene.source.open_where_acknowledged()
        scene.source.deliver = 1
        scene.epoch()
        scene.demand_what_is_claimed()
        return scene.end()

    goes_wrong_without("an ordered source has a high-water mark", interleaving)


def test_an_earlier_change_that_comes_later_is_not_applied() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1, has_order=False)
        scene.write(("put", 1, "second"), ("put", 1, "third"))
        scene.source.say((2, 1), (1, 1))
        return scene.end()

    goes_wrong_without("last positions are kept", interleaving)


def test_an_insertion_that_comes_after_its_deletion_is_not_applied() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1, has_order=False)
        scene.write(("put", 3, "new"), ("delete", 3))
        scene.source.say((2, 1), (1, 1))
        return scene.end()

    goes_wrong_without("tombstones are kept", interleaving)


def test_an_earlier_change_may_come_in_a_later_epoch() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1, has_order=False)
        scene.write(("put", 1, "second"), ("put", 1, "third"))
        scene.source.say((2, 1))
        scene.epoch()
        scene.source.say((1, 1))
        return scene.end()

    goes_wrong_without("they are kept for the whole window", interleaving)


def outside_the_window() -> Scene:
    """The first change of a key comes after more others than the source promises."""
    scene = read_to_the_end(1, has_order=False)
    scene.write(("put", 1, "second"), ("put", 1, "third"))
    others = range(3, 3 + DISORDER + 1)
    scene.write(*(("put", 9, number) for number in others))
    scene.source.say((2, 1), *((number, 1) for number in others))
    scene.epoch()
    scene.source.say((1, 1))
    return scene


def test_a_change_that_comes_too_late_is_not_applied() -> None:
    goes_wrong_without("what is late goes to the quarantine", lambda: outside_the_window().end())


def test_a_change_that_comes_too_late_is_handed_to_the_quarantine() -> None:
    ended = outside_the_window().run.epoch()
    assert [change.position for change in ended.late] == [(1, 1)]
    assert ended.counts == {"late": 1}


def test_a_crash_between_output_and_state_leaves_nothing_behind() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 2)
        scene.start()
        scene.kill_at("torn")
        scene.epoch()
        scene.start()
        scene.write(("delete", 1))
        scene.pace.rows_max = 0
        scene.epoch()
        return scene.end()

    goes_wrong_without("output and state are one commit", interleaving)


def test_a_crash_before_the_commit_loses_no_change() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1)
        scene.write(("put", 1, "new"))
        scene.kill_at("commit")
        scene.epoch()
        return scene.end()

    goes_wrong_without("the source is acknowledged after the commit", interleaving)


def test_no_change_is_thrown_away_while_the_stream_recovers() -> None:
    def interleaving() -> Found:
        scene = read_to_the_end(1)
        scene.write(("put", 1, "new"))
        scene.start()
        return scene.end()

    goes_wrong_without("the state is restored before the first change", interleaving)


def test_a_restart_does_not_read_a_vnode_again() -> None:
    """Another pass would never hear of the deletion, and a reread removes nothing."""

    def interleaving() -> Found:
        scene = Scene(1, 2)
        scene.start()
        scene.epoch()
        scene.start()
        scene.write(("delete", 1))
        scene.pace.rows_max = 0
        scene.epoch()
        return scene.end()

    goes_wrong_without("a vnode goes on behind its position", interleaving)


def test_a_split_forgets_no_dropped_change() -> None:
    def interleaving() -> Found:
        scene = Scene(1, 5)
        scene.start()
        scene.write(("put", 5, "new"))
        scene.epoch()
        scene.run.split((3,))
        scene.upstream.version = 0
        scene.epoch(3)
        return scene.end()

    goes_wrong_without("both halves of a split keep what was known", interleaving)


def test_every_rule_has_an_interleaving() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert not [rule for rule in RULES if f'goes_wrong_without("{rule}"' not in text]
