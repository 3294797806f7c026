# SPDX-License-Identifier: Apache-2.0
"""An index follows its table, whatever the table's commits are."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.errors import ScrubError
from scrub.stores.delta import following
from scrub.stores.delta.changes import CannotFollow
from scrub.stores.delta.following import FollowedVersion
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of

RETENTION = "delta.logRetentionDuration"
BOTH = ["by_customer", "open_orders"]
START = [(1, 10, "open"), (2, 10, "paid"), (3, None, "open"), (4, 40, None)]


def merge(ground: DeltaGround, rows: pa.Table) -> None:
    merger = ground.table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


COMMITS: dict[str, Callable[[DeltaGround], Any]] = {
    "append": lambda g: g.append((5, 50, "open"), (6, None, None)),
    "update": lambda g: g.table.update(updates={"status": "'paid'"}, predicate="id = 1"),
    "key change": lambda g: g.table.update(updates={"customer_id": "77"}, predicate="id < 3"),
    "delete": lambda g: g.table.delete("id = 2"),
    "merge": lambda g: merge(g, rows_of((2, 20, "open"), (9, 90, "open"))),
    "compaction": lambda g: (g.append((7, 1, "open")), g.table.optimize.compact()),
    "overwrite": lambda g: write_deltalake(
        g.location, rows_of((1, 10, "open"), (100, 5, "open")), mode="overwrite"
    ),
    "delete everything": lambda g: g.table.delete(),
    "rows that come twice": lambda g: (g.append((1, 10, "open")), g.append((1, 10, "open"))),
    "a property": lambda g: g.table.alter.set_table_properties({RETENTION: "interval 60 days"}),
    "restore": lambda g: (g.append((5, 50, "open")), g.table.restore(0)),
}  # fmt: skip


@pytest.mark.parametrize("feed", [False, True], ids=["files", "feed"])
@pytest.mark.parametrize("commit", COMMITS)
def test_whatever_a_commit_does_the_index_follows(tmp_path: Path, commit: str, feed: bool) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START), feed=feed)
    for index in BOTH:
        ground.load(index)
    COMMITS[commit](ground)
    for index in BOTH:
        followed = ground.follow(index)
        assert ground.entries(index) == ground.expected(index)
        assert followed.version == ground.table.version()
        assert not any(step.absent for step in followed.steps)


@pytest.mark.parametrize("feed", [False, True], ids=["files", "feed"])
def test_a_change_feed_and_file_differences_tell_the_same(tmp_path: Path, feed: bool) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START), feed=feed)
    ground.load()
    ground.table.update(updates={"status": "'paid'"}, predicate="id = 1")
    ground.table.delete("id = 2")
    (update, delete) = ground.follow().steps
    assert update == FollowedVersion(version=1, taken=1, added=1)
    assert delete == FollowedVersion(version=2, taken=1)


def test_following_twice_changes_nothing(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    ground.append((5, 50, "open"))
    ground.follow()
    before = DeltaTable(str(tmp_path / "orders__by_customer")).version()
    assert not ground.follow().steps
    assert DeltaTable(str(tmp_path / "orders__by_customer")).version() == before


def test_commits_that_change_nothing_advance_the_version_at_once(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.append((5, 50, "open"))
    ground.load()
    before = DeltaTable(str(tmp_path / "orders__by_customer")).version()
    ground.table.optimize.compact()
    for days in (61, 62, 63):
        interval = f"interval {days} days"
        ground.table.alter.set_table_properties({RETENTION: interval})
    (step,) = ground.follow().steps
    assert step == FollowedVersion(version=ground.table.version())
    assert DeltaTable(str(tmp_path / "orders__by_customer")).version() == before + 1


def test_index_commits_of_two_writers_that_arrive_in_the_other_order(tmp_path: Path) -> None:
    """Writer A commits the table first, writer B second; B's index commit comes first.

    A's older entry would win if writers wrote the index themselves. Whoever follows, follows the
    table's order: what A brings later finds its version taken.
    """
    ground = DeltaGround(tmp_path, rows_of((1, 10, "old")))
    ground.load()
    late = ground.build().follower()
    ground.table.update(updates={"status": "'from A'"}, predicate="id = 1")
    a_commit = following.read_commit  # A has committed the table, and is slow from here on
    held_up: list[list[FollowedVersion]] = []

    def overtaken(snapshot: Any, version: int) -> Any:
        commit = a_commit(snapshot, version)
        if not held_up:
            held_up.append([])
            ground.table.update(updates={"status": "'from B'"}, predicate="id = 1")
            held_up[0] += ground.follow().steps
        return commit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "read_commit", overtaken)
        followed = late.catch_up(lambda _: None)
    assert [step.version for step in held_up[0]] == [1, 2]
    assert followed.version == 2
    assert not followed.steps
    assert ground.entries() == Counter([(10, 1, "from B")])


def test_a_column_that_is_added_to_the_table_is_survived(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    wider = rows_of((5, 50, "open")).append_column("note", pa.array(["new"]))
    write_deltalake(ground.location, wider, mode="append", schema_mode="merge")
    ground.table.update(updates={"note": "'changed'"}, predicate="id <= 5")
    ground.follow()
    assert ground.entries() == ground.expected()


def test_an_overwrite_with_another_schema_is_followed_or_refused_by_name(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    other = rows_of((5, 50, "open")).append_column("note", pa.array(["new"]))
    write_deltalake(ground.location, other, mode="overwrite", schema_mode="overwrite")
    ground.follow()
    assert ground.entries() == Counter([(50, 5, "open")])
    narrow = rows_of((5, 50, "open")).drop_columns(["status"])
    write_deltalake(ground.location, narrow, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(ScrubError, match="no column status"):
        ground.follow()


def test_a_vacuum_in_between_is_refused_by_name(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    ground.table.delete("id = 1")
    ground.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    before = ground.entries()
    with pytest.raises(CannotFollow, match="a vacuum of the table removed it") as raised:
        ground.follow()
    assert "rebuild the index" in (raised.value.hint or "")
    assert raised.value.exit_code == 3
    assert ground.entries() == before


def test_a_compaction_and_a_vacuum_after_it_are_survived(tmp_path: Path) -> None:
    """What a compaction removed is gone, and nobody needs it."""
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.append((5, 50, "open"))
    ground.load()
    ground.table.optimize.compact()
    ground.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    ground.append((6, 60, "open"))
    (step,) = ground.follow().steps
    assert step == FollowedVersion(version=ground.table.version(), added=1)
    assert ground.entries() == ground.expected()


def test_where_there_is_a_feed_the_rewritten_files_are_not_needed(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START), feed=True)
    ground.load()
    before = set(ground.table.file_uris())
    ground.table.update(updates={"status": "'paid'"}, predicate="id = 1")
    for uri in before - set(ground.table.file_uris()):
        Path(uri).unlink()
    assert ground.follow().steps == [FollowedVersion(version=1, taken=1, added=1)]
    assert ground.entries() == ground.expected()


def written_since(root: Path, commits: int) -> DeltaGround:
    """An index, and a table with so many more commits."""
    ground = DeltaGround(root, rows_of(*START))
    ground.load()
    for number in range(commits):
        ground.append((50 + number, 1, "x"))
    return ground


def test_a_log_that_was_cleaned_up_is_refused_by_name(tmp_path: Path) -> None:
    ground = written_since(tmp_path, commits=3)
    ground.table.create_checkpoint()
    (tmp_path / "orders" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(CannotFollow, match="commit 1 of Delta table orders is not in its log"):
        ground.follow()


def test_a_table_that_was_made_anew_is_refused_by_name(tmp_path: Path) -> None:
    import shutil

    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.append((5, 50, "open"))
    ground.load()
    shutil.rmtree(ground.location)
    write_deltalake(ground.location, rows_of((1, 1, "x")))
    with pytest.raises(CannotFollow, match="recreated"):
        ground.follow()
    ground.append((2, 2, "y"))
    ground.append((3, 3, "y"))
    with pytest.raises(CannotFollow, match="recreated"):
        ground.follow()


def test_an_index_that_does_not_follow_is_refused_and_can_be_adopted(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    entries = [(customer, number, status) for number, customer, status in START]
    schema = pa.schema([("customer_id", pa.int64()), ("id", pa.int64()), ("status", pa.string())])
    columns = [pa.array(c, f.type) for c, f in zip(zip(*entries, strict=True), schema, strict=True)]
    write_deltalake(str(tmp_path / "orders__by_customer"), pa.table(columns, schema))
    ground.table.delete("id = 1")
    with pytest.raises(CannotFollow, match="does not follow orders") as raised:
        ground.follow()
    assert "--from VERSION" in (raised.value.hint or "")
    ground.build().follower().adopt(0)
    ground.follow()
    assert ground.entries() == ground.expected()
    with pytest.raises(CannotFollow, match="follows orders already"):
        ground.build().follower().adopt(0)


def test_entries_that_should_go_and_are_not_there_are_counted(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    DeltaTable(str(tmp_path / "orders__by_customer")).delete("id = 1")
    ground.table.delete("id = 1")
    (step,) = ground.follow().steps
    assert step == FollowedVersion(version=1, absent=1)
    assert ground.entries() == ground.expected()


def test_a_commit_that_changed_too_much_is_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    monkeypatch.setattr(following, "CHANGES_MAX", 3)
    ground.append((5, 50, "open"))
    write_deltalake(ground.location, rows_of((8, 80, "x"), (9, 90, "y")), mode="overwrite")
    ground.append((10, 80, "x"))
    steps = ground.follow().steps
    assert [(step.version, step.loaded) for step in steps] == [(1, False), (3, True)]
    assert ground.entries() == ground.expected()


@pytest.mark.parametrize("feed", [False, True], ids=["files", "feed"])
def test_a_partitioned_table_is_followed(tmp_path: Path, feed: bool) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START), partition_by=["status"], feed=feed)
    for index in BOTH:
        ground.load(index)
    ground.append((5, 50, "ö =/%"), (6, 60, None), (7, 70, "open"))
    ground.table.delete("id = 6 or id = 1")
    ground.table.update(updates={"customer_id": "5"}, predicate="id in (5, 3)")
    for index in BOTH:
        ground.follow(index)
        assert ground.entries(index) == ground.expected(index)


def test_two_builds_of_one_index_at_once_load_it_once(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    (tmp_path / "orders__by_customer" / "_delta_log").mkdir(parents=True)  # one was cut off here

    def build_once(_: int) -> bool:
        build = ground.build()
        build.create()
        return build.load(0) is not None

    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(build_once, range(4)))
    assert sorted(loaded) == [False, False, False, True]
    assert ground.entries() == ground.expected()


def test_many_followers_at_once_apply_each_version_once(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*START))
    ground.load()
    for number in range(6):
        ground.append((50 + number, number, "open"))
    with ThreadPoolExecutor(4) as pool:
        followed = list(pool.map(lambda _: ground.follow(), range(4)))
    assert sorted(s.version for one in followed for s in one.steps) == [1, 2, 3, 4, 5, 6]
    assert ground.entries() == ground.expected()


def test_an_index_that_others_compact_is_still_followed(tmp_path: Path) -> None:
    ground = written_since(tmp_path, commits=5)
    ground.follow()
    index = DeltaTable(str(tmp_path / "orders__by_customer"))
    index.optimize.compact()
    index = DeltaTable(str(tmp_path / "orders__by_customer"))
    index.create_checkpoint()
    ground.table.delete("id = 52")
    (step,) = ground.follow().steps
    assert step == FollowedVersion(version=6, taken=1)
    assert ground.entries() == ground.expected()


ROWS = st.tuples(
    st.integers(0, 5), st.sampled_from([None, 1, 2]), st.sampled_from([None, "open", "paid"])
)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(ROWS, min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("update"), st.tuples(st.integers(0, 5), st.integers(0, 3))),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("overwrite"), st.lists(ROWS, min_size=1, max_size=4)),
        st.tuples(st.just("follow"), st.none()),
    ),
    max_size=8,
)


@settings(max_examples=30, deadline=None)
@given(start=st.lists(ROWS, min_size=1, max_size=5), acts=ACTS, feed=st.booleans())
def test_any_history_of_a_table_is_followed(
    tmp_path_factory: pytest.TempPathFactory, start: Any, acts: Any, feed: bool
) -> None:
    ground = DeltaGround(tmp_path_factory.mktemp("lake"), rows_of(*start), feed=feed)
    for index in BOTH:
        ground.load(index)
    for verb, argument in [*acts, ("follow", None)]:
        match verb:
            case "append":
                ground.append(*argument)
            case "delete":
                ground.table.delete(f"id = {argument}")
            case "update":
                number, customer = argument
                changes = {"customer_id": str(customer)}
                ground.table.update(updates=changes, predicate=f"id = {number}")
            case "compact":
                ground.table.optimize.compact()
            case "overwrite":
                write_deltalake(ground.location, rows_of(*argument), mode="overwrite")
            case "follow":
                for index in BOTH:
                    ground.follow(index)
                    assert ground.entries(index) == ground.expected(index)
