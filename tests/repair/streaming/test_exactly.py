# SPDX-License-Identifier: Apache-2.0
"""At which snapshots an epoch may end, so that the index is what they show."""

from repair.streaming.exactly import may_end_at
from tests.repair.streaming.test_rules import Scene, read_to_the_end


def look(scene: Scene) -> bool:
    """Whether the output can become the snapshot that is taken now."""
    with scene.history.snapshot() as held:
        return may_end_at(scene.run.state, held.snapshot, scene.source.coverage)


def test_an_output_that_is_ahead_of_the_snapshot_is_waited_for() -> None:
    scene = read_to_the_end(1, 2, 3, shows_transactions=True)
    scene.write(("put", 2, "held"), hold=True)
    scene.epoch()  # applies what no snapshot shows
    assert not look(scene)
    scene.upstream.release()
    assert look(scene)


def test_a_snapshot_older_than_the_output_is_none() -> None:
    scene = read_to_the_end(1)
    scene.write(("put", 1, "new"))
    scene.epoch()
    scene.upstream.version = 0
    assert not look(scene)
    scene.upstream.version = None
    assert look(scene)


def test_a_snapshot_older_than_the_history_that_was_read_is_none() -> None:
    """No change was applied: the history had it. Random interleavings found this."""
    scene = Scene(1)
    scene.start()
    scene.write(("put", 1, "new"))
    assert scene.end() == {}
    scene.upstream.version = 0
    assert not look(scene)


def test_a_snapshot_older_than_the_start_is_none() -> None:
    scene = Scene(1)
    scene.write(("put", 1, "new"))
    scene.start()
    assert scene.end() == {}
    scene.upstream.version = 0
    assert not look(scene)


def test_before_the_history_is_read_there_is_none() -> None:
    scene = Scene(1, 2)
    scene.start()
    scene.epoch()
    assert not look(scene)


def test_a_source_without_order_shows_none() -> None:
    assert not look(read_to_the_end(1, has_order=False))
