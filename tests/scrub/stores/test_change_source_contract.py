# SPDX-License-Identifier: Apache-2.0
"""What every change source does. A new one belongs into `change_sources.SOURCES`."""

from collections.abc import Iterator

import pytest

from scrub.model.stream.changes import Change, Changes
from scrub.model.stream.coverage import NOTHING
from tests.scrub.stores.change_sources import SOURCES, SourceGround

PATIENCE = 300


@pytest.fixture(params=SOURCES)
def ground(request: pytest.FixtureRequest) -> Iterator[SourceGround]:
    with SOURCES[request.param]() as made:
        yield made


def reads(ground: SourceGround, number: int, limit: int = 1000) -> list[Changes]:
    """Read until so many changes have come, and once more."""
    found: list[Changes] = []
    for _ in range(PATIENCE):
        if sum(len(read.changes) for read in found) >= number:
            break
        found.append(ground.source.changes(limit))
    found.append(ground.source.changes(limit))
    assert sum(len(read.changes) for read in found) == number
    return found


def hear(ground: SourceGround, number: int) -> list[Change]:
    return [change for read in reads(ground, number) for change in read.changes]


def test_what_happens_behind_the_start_arrives_in_order(ground: SourceGround) -> None:
    ground.transaction(("put", 1, "before"))
    ground.start()
    ground.transaction(("put", 1, "a"), ("put", 2, "b"))
    ground.transaction(("move", 2, 3))
    ground.transaction(("delete", 1))
    changes = hear(ground, 4)
    assert [(change.removed, change.put) for change in changes] == [
        (None, (1,)),
        (None, (2,)),
        ((2,), (3,)),
        ((1,), None),
    ]
    positions = [change.position for change in changes]
    assert positions == sorted({*positions}), "each has a position of its own"


def test_history_has_to_show_what_was_before_the_start(ground: SourceGround) -> None:
    before = ground.snapshot()
    ground.transaction(("put", 1, "before"))
    start = ground.start()
    coverage = ground.source.coverage
    assert not coverage.meets(before, start.before)
    assert coverage.meets(ground.snapshot(), start.before)


def test_a_snapshot_covers_what_was_before_it(ground: SourceGround) -> None:
    ground.start()
    first = ground.snapshot()
    ground.transaction(("put", 1, "a"))
    second = ground.snapshot()
    ground.transaction(("put", 1, "b"))
    third = ground.snapshot()
    coverage = ground.source.coverage
    one, two = hear(ground, 2)
    covered = [[coverage.covers(at, c) for c in (one, two)] for at in (first, second, third)]
    assert covered == [[False, False], [True, False], [True, True]]
    must = coverage.with_changes(NOTHING, [two])
    assert [coverage.meets(at, must) for at in (first, second, third)] == [False, False, True]
    assert coverage.meets(first, NOTHING)
    assert coverage.meets(third, coverage.settled(must, third))


def test_the_ceiling_of_a_snapshot_is_above_all_that_it_covers(ground: SourceGround) -> None:
    ground.start()
    ground.transaction(("put", 1, "a"))
    snapshot = ground.snapshot()
    (change,) = hear(ground, 1)
    assert ground.source.coverage.covers(snapshot, change)
    assert change.position <= snapshot.ceiling[change.partition]


def test_a_transaction_is_never_cut(ground: SourceGround) -> None:
    ground.start()
    ground.transaction(*(("put", key, "a") for key in range(20)))
    ground.transaction(*(("put", key, "b") for key in range(7)))
    sizes = [len(read.changes) for read in reads(ground, 27, limit=3)]
    assert [size for size in sizes if size] in ([20, 7], [27])


def test_another_process_continues_where_the_state_says(ground: SourceGround) -> None:
    start = ground.start()
    ground.transaction(("put", 1, "a"))
    read = next(read for read in reads(ground, 1) if read.changes)
    ground.transaction(("put", 2, "b"))
    ground.reopen(start.resume)
    assert [change.put for change in hear(ground, 2)] == [(1,), (2,)]
    ground.reopen(read.resume)  # the state has everything before: it may be forgotten
    assert [change.put for change in hear(ground, 1)] == [(2,)]


def test_what_was_acknowledged_does_not_come_again_and_the_rest_does(ground: SourceGround) -> None:
    ground.start()
    ground.transaction(("put", 1, "a"))
    kept = reads(ground, 1)[-1].resume
    ground.source.acknowledge(kept)
    ground.transaction(("put", 2, "b"))
    hear(ground, 1)
    ground.reopen(kept)
    assert [change.put for change in hear(ground, 1)] == [(2,)]


def test_without_changes_nothing_arrives(ground: SourceGround) -> None:
    ground.start()
    assert hear(ground, 0) == []
