# SPDX-License-Identifier: Apache-2.0
"""The worked examples of the document on streaming backfill, by name."""

from repair.streaming.choosing import choose_parts
from repair.streaming.cutting import split
from repair.streaming.epoch import end_epoch
from repair.streaming.running import Pace
from repair.streaming.schemas import rearranged
from scrub.model.stream.epochs import Put, Verdict
from scrub.model.stream.prefix_coverage import PrefixCoverage
from tests.repair.streaming.made import a_state, delete, heard, part, put, shows
from tests.repair.streaming.model_stream import ModelStream
from tests.repair.streaming.model_upstream import Upstream

COVERAGE = PrefixCoverage()


def test_rows_1_and_2_are_backfilled_and_changes_reach_up_to_100() -> None:
    """Downstream receives rows 1 and 2, and of the changes only the deletion of row 1."""
    changes = heard(put(1, 4, "d"), delete(2, 1), delete(3, 99), put(4, 100, "zzzz"))
    rows = part(((1,), ("a",)), ((2,), ("b",)))
    epoch = end_epoch(a_state(), changes, COVERAGE, snapshot=shows(0), parts=[rows])
    assert [read.data for read in epoch.writes.parts] == [[((1,), ("a",)), ((2,), ("b",))]]
    assert epoch.writes.changes == {(1,): None}
    assert epoch.counts == {Verdict.APPLIED: 1, Verdict.DROPPED: 3}
    assert epoch.state.vnodes[0].passed_to == (2,)


def test_the_same_example_ends_with_the_table() -> None:
    names = {1: "a", 2: "b", 3: "c", 99: "zzz"}
    upstream = Upstream({(key,): (name, "long") for key, name in names.items()})
    stream = ModelStream(upstream, pace=Pace(rows_max=2)).start()
    moment = iter([("put", 4, "d"), ("delete", 1), ("delete", 99), ("put", 100, "zzzz")])
    stream.history.moment = lambda where: (
        where == "snapshot taken" and [upstream.commit(write) for write in moment]
    )
    stream.run.epoch()
    assert sorted(stream.sink.output) == [(2,)]
    stream.settle()
    assert sorted(stream.sink.output) == [(2,), (3,), (4,), (100,)]
    assert not stream.differences()


def test_the_offsets_1_2_and_5_outlive_a_rescaling() -> None:
    """One offset for all vnodes would not say where each goes on; here each has its own."""
    state = a_state([(1,), (2,)])
    parts = [
        part(((0, 1), ()), vnode=0),
        part(((1, 1), ()), ((1, 2), ()), vnode=1),
        part(((2, 4), ()), ((2, 5), ()), vnode=2),
    ]
    state = end_epoch(state, heard(), COVERAGE, snapshot=shows(0), parts=parts).state
    for parallel in (3, 1, 2, 4):
        choice = choose_parts(
            state.vnodes, shows(0), COVERAGE, parallel=parallel, rows_max=parallel
        )
        offsets = {(0,): (0, 1), (1,): (1, 2), (2,): (2, 5)}
        assert len(choice.wanted) == min(parallel, 3)
        for wanted in choice.wanted:
            assert wanted.after == offsets[wanted.slice.low or (0,)]
    halves = split(split(state.vnodes, (2, 3)), (2, 9))
    assert [(vnode.passed_to, vnode.is_finished) for vnode in halves] == [
        ((0, 1), False),
        ((1, 2), False),
        ((2, 5), True),
        ((2, 5), False),
        (None, False),
    ]


TABLE = ("id", "name", "age", "drivers_license_id")
CARRIED = ("drivers_license_id", "name", "id")


def test_replication_of_29_jack() -> None:
    """What is carried does not have every column: the others are NULL in the table's schema."""
    assert rearranged((1, "Jack", 29), CARRIED, TABLE) == (29, "Jack", None, 1)


def test_29_jack_and_30_jill_are_carried_out_alike_from_history_and_from_changes() -> None:
    jack = put(1, 29, *rearranged((29, "Jack", None, 1), TABLE, CARRIED))
    jill = ((30,), rearranged((30, "Jill", 30, 2), TABLE, CARRIED))
    read = part(jill, is_end=True)
    epoch = end_epoch(a_state(), heard(jack), COVERAGE, snapshot=shows(0), parts=[read])
    assert epoch.writes.parts[0].data == [((30,), (2, "Jill", 30))]
    assert epoch.writes.changes == {(29,): Put((1, "Jack", 29), (29,))}


def test_the_index_stores_fewer_columns_than_are_carried() -> None:
    """The key is needed while the table is read, not in the index."""
    assert rearranged((2, "Jill", 30), CARRIED, ("name",)) == ("Jill",)
