# SPDX-License-Identifier: Apache-2.0
"""Building indexes of Delta tables, the gate before they are public, and checks at one snapshot."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.app import run_check
from scrub.app.building.verbs import (
    backfill_status,
    cancel_backfill,
    cancel_preview,
    drop_index,
    drop_preview,
    plan_backfill,
    run_backfill,
)
from scrub.errors import RelationMismatch, ScrubError, UsageError
from scrub.model.backfill import BackfillRequest, BackfillResult, BackfillStatus
from scrub.model.build import Method, State
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import RunResult, Status
from scrub.stores.delta import building as delta_build
from scrub.stores.delta import loading
from scrub.stores.delta import writes as delta_writes
from tests.builders import found
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of

pytestmark = pytest.mark.spark
START = [(n, n % 7, ("open", "paid", None)[n % 3]) for n in range(40)]


def check(ground: DeltaGround, spark: Any, **request: Any) -> RunResult:
    return run_check(
        CheckRequest(catalog=ground.catalog, tables=("orders",), **request), spark=spark
    )


@pytest.fixture
def ground(tmp_path: Path) -> DeltaGround:
    return DeltaGround(tmp_path, rows_of(*START))


def request(ground: DeltaGround, *indexes: str, **given: Any) -> BackfillRequest:
    return BackfillRequest(table="orders", indexes=indexes, catalog=Path(ground.catalog), **given)


def build(ground: DeltaGround, spark: Any, *indexes: str) -> BackfillResult:
    return run_backfill(request(ground, *(indexes or ("by_customer",))), spark=spark)


def cancel(ground: DeltaGround, *indexes: str) -> list[BackfillStatus]:
    return cancel_backfill(request(ground, *(indexes or ("by_customer",))))


def drop(ground: DeltaGround) -> list[BackfillStatus]:
    return drop_index(request(ground, "by_customer"))


def status(ground: DeltaGround, index: str = "by_customer") -> BackfillStatus:
    (found,) = backfill_status(request(ground, index))
    return found


def test_an_index_is_loaded_checked_and_published(ground: DeltaGround, spark: Any) -> None:
    assert status(ground).state is State.REVERSED
    assert build(ground, spark).exit_code == 0
    now = status(ground)
    assert (now.state, now.shown_version, now.table_version) == (State.PUBLIC, 0, 0)
    assert now.entries == 40
    with pytest.raises(RelationMismatch, match="is built and public"):
        build(ground, spark)


def test_a_check_compares_with_the_version_that_the_index_shows(
    ground: DeltaGround, spark: Any
) -> None:
    build(ground, spark)
    ground.append((100, 1, "open"))
    result = check(ground, spark, indexes=("by_customer",))
    assert result.status is Status.CLEAN
    assert result.tables[0].snapshot == "version 0"
    assert "follows the table: compared with version 0" in result.outcomes[0].notes
    later = check(ground, spark, indexes=("by_customer",), as_of=(AsOf(version=1),))
    assert found(later) == [("missing_secondary_index", 100)]
    ground.follow()
    assert check(ground, spark, indexes=("by_customer",)).tables[0].snapshot == "version 1"


def test_damage_in_a_following_index_is_found_and_does_not_settle(
    ground: DeltaGround, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrub.app.checking import tables as check_tables

    build(ground, spark, "by_customer", "open_orders")
    DeltaTable(str(ground.root / "orders__by_customer")).delete("id = 3")

    def meanwhile(_: float) -> None:
        ground.append((100, 1, "open"))
        ground.follow("open_orders")

    monkeypatch.setattr(check_tables, "SLEEP", meanwhile)
    result = check(ground, spark, settle_seconds=1.0)
    assert found(result) == [("missing_secondary_index", 3)]


def test_a_version_of_the_table_that_is_gone_leaves_the_check_incomplete(
    ground: DeltaGround, spark: Any
) -> None:
    build(ground, spark)
    ground.append((100, 1, "open"))
    ground.table.create_checkpoint()
    (ground.root / "orders" / "_delta_log" / f"{0:020}.json").unlink()
    result = check(ground, spark, indexes=("by_customer",))
    assert result.status is Status.INCOMPLETE
    assert "shows version 0" in (result.outcomes[0].reason or "")


def test_an_index_that_is_being_built_is_not_checked_as_if_it_were_public(
    ground: DeltaGround, spark: Any
) -> None:
    ground.load()
    now = status(ground)
    assert now.state is State.VALIDATING
    result = check(ground, spark, indexes=("by_customer",))
    assert result.outcomes[0].status is Status.NOT_APPLICABLE
    assert result.outcomes[0].reason == "it is still being built"
    assert check(ground, spark, indexes=("by_customer",), being_built=True).status is Status.CLEAN


def test_rows_that_share_a_unique_key_are_named_and_nothing_is_published(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = {"by_status": {"columns": ["status"], "unique": True}}
    ground = DeltaGround(
        tmp_path, rows_of((1, 1, "a"), (2, 1, "b"), (3, 1, "a"), (4, 1, None)), indexes
    )
    refused = build(ground, spark, "by_status")
    assert refused.exit_code == 1
    assert (refused.builds[0].failure or "").splitlines() == [
        "the check found 2 defects:",
        "unique_violation of by_status at id=1",
        "unique_violation of by_status at id=3",
    ]
    assert status(ground, "by_status").state is State.VALIDATING
    ground.table.delete("id = 3")
    monkeypatch.setattr(loading.Loader, "load", None)  # what is loaded is only followed
    again = build(ground, spark, "by_status")
    assert again.exit_code == 0
    assert again.builds[0].shown_version == 1


def test_a_defective_index_is_never_published(ground: DeltaGround, spark: Any) -> None:
    ground.load()
    DeltaTable(str(ground.root / "orders__by_customer")).delete("id = 3")
    (refused,) = build(ground, spark).builds
    assert refused.state is State.VALIDATING
    assert refused.failure == (
        "the check found 1 defect: missing_secondary_index of by_customer at id=3"
    )
    assert [one.indexes for one in cancel(ground)] == [("by_customer",)]
    assert build(ground, spark).exit_code == 0


def test_expressions_that_only_spark_knows_are_loaded_and_followed(
    tmp_path: Path, spark: Any
) -> None:
    indexes = {
        "by_lower": {"columns": [{"expr": "lower(status)", "as": "low"}], "nulls": "skip"},
        "is_open": {"columns": [{"expr": "status = 'open'", "as": "open"}], "storing": ["status"]},
    }
    start = rows_of((1, 1, "OPEN"), (2, 2, "Paid"), (3, 3, None), (4, 4, "open"))
    ground = DeltaGround(tmp_path, start, indexes, session=lambda: spark)
    assert build(ground, spark, "by_lower", "is_open").exit_code == 0
    ground.append((5, 5, "ΑΣ"))
    ground.table.update(updates={"status": "'LATE'"}, predicate="id = 3")
    for index in indexes:
        ground.follow(index)
    assert check(ground, spark).status is Status.CLEAN
    lows = DeltaTable(str(tmp_path / "orders__by_lower")).to_pyarrow_table().column("low")
    assert sorted(lows.to_pylist()) == ["late", "open", "open", "paid", "ας"]


def test_a_large_table_is_loaded_through_spark_in_files_of_their_own_ranges(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "HERE_ROWS_MAX", 100)
    monkeypatch.setattr(loading, "FILE_ROWS", 1000)
    rows = rows_of(*((n, (n * 7919) % 4000, "x") for n in range(4000)))
    ground = DeltaGround(tmp_path, rows, session=lambda: spark)
    timestamps = spark.conf.get("spark.sql.parquet.outputTimestampType", None)
    assert build(ground, spark).exit_code == 0
    assert ground.entries() == ground.expected()
    assert spark.conf.get("spark.sql.parquet.outputTimestampType", None) == timestamps
    index = DeltaTable(str(tmp_path / "orders__by_customer"))
    actions = pa.table(index.get_add_actions(flatten=True)).to_pylist()
    ranges = sorted((a["min.customer_id"], a["max.customer_id"]) for a in actions)
    assert len(ranges) == 4
    assert all(one[1] <= other[0] for one, other in pairwise(ranges))
    ground.table.delete("id = 17")
    ground.follow()
    after = pa.table(DeltaTable(str(tmp_path / "orders__by_customer")).get_add_actions())
    untouched = {a["path"] for a in actions} & set(after.column("path").to_pylist())
    assert len(untouched) == 3, "a change of one entry writes one file again"


def test_cancel_and_drop_remove_what_a_build_made_and_nothing_else(
    ground: DeltaGround, spark: Any
) -> None:
    ground.load()
    write_deltalake(str(ground.root / "orders__open_orders"), rows_of(*START))
    with pytest.raises(UsageError, match="scrub did not build"):
        cancel(ground, "by_customer", "open_orders")
    assert [one.failure for one in cancel(ground)] == ["cancelled"]
    assert not (ground.root / "orders__by_customer").exists()
    with pytest.raises(UsageError, match="no build of table orders is under way"):
        cancel(ground)
    build(ground, spark)
    with pytest.raises(UsageError, match="is public"):
        cancel(ground)
    assert [one.failure for one in drop(ground)] == ["dropped"]
    assert ground.table.to_pyarrow_table().num_rows == 40
    with pytest.raises(UsageError, match="already exists"):
        build(ground, spark, "open_orders")


def test_a_preview_refuses_what_the_build_would_refuse(ground: DeltaGround) -> None:
    write_deltalake(str(ground.root / "orders__open_orders"), rows_of(*START))
    with pytest.raises(UsageError, match="already exists"):
        plan_backfill(request(ground, "open_orders"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"method": Method.MERGE}, "--method merge"),
        ({"method": Method.INIT_PUT}, "--method init_put"),
        ({"rows_per_second": 5, "chunk_seconds": 1.0}, "--rows-per-second, --chunk-seconds"),
        ({"pause_file": Path("pause")}, "--pause-file"),
    ],
)
def test_a_pace_that_nobody_would_heed_is_refused(
    ground: DeltaGround, given: dict[str, Any], told: str
) -> None:
    for verb in (plan_backfill, run_backfill):
        with pytest.raises(UsageError, match=f"so there is no {told}"):
            verb(request(ground, "by_customer", **given))
    assert status(ground).state is State.REVERSED


def test_previews_of_removals_refuse_what_the_removal_would_refuse(ground: DeltaGround) -> None:
    def refused(verb: Callable[[BackfillRequest], object], *indexes: str) -> str:
        with pytest.raises(UsageError) as told:
            verb(request(ground, *indexes))
        return told.value.with_hint

    for verb in (cancel_preview, cancel_backfill):
        assert "no build of table orders is under way" in refused(verb)
        assert "no build of table orders is under way" in refused(verb, "by_customer")
    for verb in (drop_preview, drop_index):
        assert "by_customer of table orders is not there" in refused(verb, "by_customer")
    ground.load()
    assert [one.indexes for one in cancel_preview(request(ground))] == [("by_customer",)]
    assert [one.indexes for one in drop_preview(request(ground, "by_customer"))] == [
        ("by_customer",)
    ]
    ground.build().publish()
    assert "no build of table orders is under way" in refused(cancel_preview)
    for verb in (cancel_preview, cancel_backfill):
        told = refused(verb, "by_customer")
        command = f"scrub backfill drop orders by_customer --execute --catalog {ground.catalog}"
        assert told.endswith(f"if it is to go: {command}")
    assert ground.entries(), "nothing was removed"
    assert [one.failure for one in drop(ground)] == ["dropped"]


def test_a_folder_that_is_no_index_is_never_removed(ground: DeltaGround) -> None:
    folder = ground.root / "orders__by_customer"
    folder.mkdir()
    (folder / "precious.parquet").write_bytes(b"data")
    for remove in (cancel, drop):
        with pytest.raises(UsageError):
            remove(ground)
    assert (folder / "precious.parquet").exists()


def test_a_removal_that_ends_anywhere_is_continued(
    ground: DeltaGround, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each file that is deleted, the process ends; the same command goes on."""
    ground.load()
    for number in range(3):
        ground.append((100 + number, 1, "open"))
    ground.follow()
    DeltaTable(str(ground.root / "orders__by_customer")).create_checkpoint()
    delete, left = pafs.LocalFileSystem.delete_file, [0]

    class Killed(BaseException):
        pass

    class Mortal(pafs.LocalFileSystem):
        def delete_file(self, path: str) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1
            delete(self, path)

    monkeypatch.setattr(delta_build, "open_filesystem", lambda uri, _: (Mortal(), uri))
    ends = 0
    while (ground.root / "orders__by_customer").exists():
        left[0] = 1
        try:
            cancel(ground)
        except Killed:
            ends += 1
            now = status(ground)
            assert now.state is State.REVERSING
            with pytest.raises(ScrubError, match="being removed"):
                build(ground, spark)
    assert ends > 5
    assert build(ground, spark).exit_code == 0


def test_a_follower_that_comes_after_the_removal_leaves_nothing_that_stays(
    ground: DeltaGround, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.load()
    ground.append((100, 1, "open"))
    slow = delta_writes.find_entries

    def removed_meanwhile(*arguments: Any) -> Any:
        found = slow(*arguments)
        monkeypatch.undo()
        cancel(ground)
        (ground.root / "orders__by_customer").mkdir()
        return found

    monkeypatch.setattr(delta_writes, "find_entries", removed_meanwhile)
    with suppress(ScrubError):
        ground.follow()
    assert status(ground).state is not State.PUBLIC
    with suppress(UsageError):  # if nothing was left at all
        cancel(ground)
    assert build(ground, spark).exit_code == 0


@pytest.mark.parametrize("moment", ["created", "files written", "loaded", "followed", "checked"])
def test_a_build_that_ends_anywhere_is_continued(
    ground: DeltaGround, spark: Any, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrub.app.building import gate
    from scrub.stores.delta.building import DeltaBuild
    from scrub.stores.delta.following import Follower

    class Killed(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    ground.append((100, 1, "open"))
    target: tuple[Any, str] = {
        "created": (DeltaBuild, "load"),
        "files written": (loading, "commit_next"),
        "loaded": (Follower, "catch_up"),
        "followed": (gate, "run_check"),
        "checked": (DeltaBuild, "publish"),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(*target, killed)
        with pytest.raises(Killed):
            build(ground, spark)
    assert status(ground).state is not State.PUBLIC
    ground.table.delete("id < 3")
    assert build(ground, spark).exit_code == 0
    assert ground.entries() == ground.expected()
