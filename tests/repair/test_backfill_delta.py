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

from repair import delta_build, loading
from scrub.app import run_check
from scrub.app.backfill import (
    cancel_backfill,
    cancel_preview,
    drop_index,
    drop_preview,
    plan_backfill,
    run_backfill,
)
from scrub.app.backfill_delta import DeltaState, build, cancel, drop, status
from scrub.errors import RelationMismatch, ScrubError, UsageError
from scrub.model.backfill import BackfillRequest
from scrub.model.build import Method
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import RunResult, Status
from scrub.stores import delta_writes
from tests.builders import found
from tests.repair.delta_ground import DeltaGround, rows_of

pytestmark = pytest.mark.spark
START = [(n, n % 7, ("open", "paid", None)[n % 3]) for n in range(40)]


def check(ground: DeltaGround, spark: Any, **request: Any) -> RunResult:
    return run_check(
        CheckRequest(catalog=ground.catalog, tables=("orders",), **request), spark=spark
    )


@pytest.fixture
def ground(tmp_path: Path) -> DeltaGround:
    return DeltaGround(tmp_path, rows_of(*START))


def test_an_index_is_loaded_checked_and_published(ground: DeltaGround, spark: Any) -> None:
    assert status(ground.catalog, "orders", ["by_customer"])[0].state is DeltaState.ABSENT
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert result.published
    assert result.check.status is Status.CLEAN
    assert result.entries == 40
    (now,) = status(ground.catalog, "orders", ["by_customer"])
    assert (now.state, now.shown, now.lag, now.entries) == (DeltaState.PUBLIC, 0, 0, 40)
    with pytest.raises(RelationMismatch, match="is built and public"):
        build(ground.catalog, "orders", ["by_customer"], spark=spark)


def test_a_check_compares_with_the_version_that_the_index_shows(
    ground: DeltaGround, spark: Any
) -> None:
    build(ground.catalog, "orders", ["by_customer"], spark=spark)
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
    from scrub.app import check_tables

    build(ground.catalog, "orders", ["by_customer", "open_orders"], spark=spark)
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
    build(ground.catalog, "orders", ["by_customer"], spark=spark)
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
    (now,) = status(ground.catalog, "orders", ["by_customer"])
    assert now.state is DeltaState.FOLLOWING
    result = check(ground, spark, indexes=("by_customer",))
    assert result.outcomes[0].status is Status.NOT_APPLICABLE
    assert result.outcomes[0].reason == "it is still being built"
    assert check(ground, spark, indexes=("by_customer",), being_built=True).status is Status.CLEAN


def test_rows_that_share_a_unique_key_are_named_and_nothing_is_published(
    tmp_path: Path, spark: Any
) -> None:
    indexes = {"by_status": {"columns": ["status"], "unique": True}}
    ground = DeltaGround(
        tmp_path, rows_of((1, 1, "a"), (2, 1, "b"), (3, 1, "a"), (4, 1, None)), indexes
    )
    (result,) = build(ground.catalog, "orders", ["by_status"], spark=spark)
    assert not result.published
    assert found(result.check) == [("unique_violation", 1), ("unique_violation", 3)]
    assert status(ground.catalog, "orders")[0].state is DeltaState.FOLLOWING
    ground.table.delete("id = 3")
    (again,) = build(ground.catalog, "orders", ["by_status"], spark=spark)
    assert again.published
    assert not again.loaded
    assert again.versions_followed == 1


def test_a_defective_index_is_never_published(ground: DeltaGround, spark: Any) -> None:
    ground.load()
    DeltaTable(str(ground.root / "orders__by_customer")).delete("id = 3")
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert not result.published
    assert found(result.check) == [("missing_secondary_index", 3)]
    assert cancel(ground.catalog, "orders", ["by_customer"]) == ("by_customer",)
    (again,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert again.published


def test_expressions_that_only_spark_knows_are_loaded_and_followed(
    tmp_path: Path, spark: Any
) -> None:
    indexes = {
        "by_lower": {"columns": [{"expr": "lower(status)", "as": "low"}], "nulls": "skip"},
        "is_open": {"columns": [{"expr": "status = 'open'", "as": "open"}], "storing": ["status"]},
    }
    start = rows_of((1, 1, "OPEN"), (2, 2, "Paid"), (3, 3, None), (4, 4, "open"))
    ground = DeltaGround(tmp_path, start, indexes, session=lambda: spark)
    results = build(ground.catalog, "orders", ["by_lower", "is_open"], spark=spark)
    assert all(result.published for result in results)
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
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert result.published
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
        cancel(ground.catalog, "orders", ["by_customer", "open_orders"])
    assert cancel(ground.catalog, "orders", ["by_customer"]) == ("by_customer",)
    assert not (ground.root / "orders__by_customer").exists()
    assert cancel(ground.catalog, "orders", ["by_customer"]) == ()
    build(ground.catalog, "orders", ["by_customer"], spark=spark)
    with pytest.raises(UsageError, match="is public"):
        cancel(ground.catalog, "orders", ["by_customer"])
    assert drop(ground.catalog, "orders", ["by_customer"]) == ("by_customer",)
    assert ground.table.to_pyarrow_table().num_rows == 40
    with pytest.raises(UsageError, match="is there already"):
        build(ground.catalog, "orders", ["open_orders"], spark=spark)


def test_a_preview_refuses_what_the_build_would_refuse(ground: DeltaGround) -> None:
    write_deltalake(str(ground.root / "orders__open_orders"), rows_of(*START))
    request = BackfillRequest(
        table="orders", indexes=("open_orders",), catalog=Path(ground.catalog)
    )
    with pytest.raises(UsageError, match="is there already"):
        plan_backfill(request)


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
    request = BackfillRequest(
        table="orders", indexes=("by_customer",), catalog=Path(ground.catalog), **given
    )
    for verb in (plan_backfill, run_backfill):
        with pytest.raises(UsageError, match=f"so there is no {told}"):
            verb(request)
    assert status(ground.catalog, "orders", ["by_customer"])[0].state is DeltaState.ABSENT


def test_previews_of_removals_refuse_what_the_removal_would_refuse(ground: DeltaGround) -> None:
    def request(*indexes: str) -> BackfillRequest:
        return BackfillRequest(table="orders", indexes=indexes, catalog=Path(ground.catalog))

    def refused(verb: Callable[[BackfillRequest], object], *indexes: str) -> str:
        with pytest.raises(UsageError) as told:
            verb(request(*indexes))
        return told.value.with_hint

    for verb in (cancel_preview, cancel_backfill):
        assert "no build of table orders is under way" in refused(verb)
        assert "no build of table orders is under way" in refused(verb, "by_customer")
    for verb in (drop_preview, drop_index):
        assert "by_customer of table orders is not there" in refused(verb, "by_customer")
    ground.load()
    assert [one.indexes for one in cancel_preview(request())] == [("by_customer",)]
    assert [one.indexes for one in drop_preview(request("by_customer"))] == [("by_customer",)]
    ground.build().publish()
    assert "no build of table orders is under way" in refused(cancel_preview)
    for verb in (cancel_preview, cancel_backfill):
        told = refused(verb, "by_customer")
        assert told.endswith("if it is to go: scrub backfill drop orders by_customer --execute")
    assert ground.entries(), "nothing was removed"
    assert drop_index(request("by_customer")).failure == "dropped"


def test_a_folder_that_is_no_index_is_never_removed(ground: DeltaGround) -> None:
    folder = ground.root / "orders__by_customer"
    folder.mkdir()
    (folder / "precious.parquet").write_bytes(b"data")
    assert cancel(ground.catalog, "orders", ["by_customer"]) == ()
    assert drop(ground.catalog, "orders", ["by_customer"]) == ()
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
            cancel(ground.catalog, "orders", ["by_customer"])
        except Killed:
            ends += 1
            (now,) = status(ground.catalog, "orders", ["by_customer"])
            assert now.state is DeltaState.REMOVING
            with pytest.raises(ScrubError, match="being removed"):
                build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert ends > 5
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert result.published


def test_a_follower_that_comes_after_the_removal_leaves_nothing_that_stays(
    ground: DeltaGround, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.load()
    ground.append((100, 1, "open"))
    slow = delta_writes.find_entries

    def removed_meanwhile(*arguments: Any) -> Any:
        found = slow(*arguments)
        monkeypatch.undo()
        cancel(ground.catalog, "orders", ["by_customer"])
        (ground.root / "orders__by_customer").mkdir()
        return found

    monkeypatch.setattr(delta_writes, "find_entries", removed_meanwhile)
    with suppress(ScrubError):
        ground.follow()
    assert status(ground.catalog, "orders", ["by_customer"])[0].state is not DeltaState.PUBLIC
    cancel(ground.catalog, "orders", ["by_customer"])
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert result.published


@pytest.mark.parametrize("moment", ["created", "files written", "loaded", "followed", "checked"])
def test_a_build_that_ends_anywhere_is_continued(
    ground: DeltaGround, spark: Any, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repair.delta_build import DeltaBuild
    from repair.following import Follower
    from scrub.app import backfill_delta

    class Killed(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    ground.append((100, 1, "open"))
    target: tuple[Any, str] = {
        "created": (DeltaBuild, "load"),
        "files written": (loading, "commit_next"),
        "loaded": (Follower, "catch_up"),
        "followed": (backfill_delta, "run_check"),
        "checked": (DeltaBuild, "publish"),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(*target, killed)
        with pytest.raises(Killed):
            build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert status(ground.catalog, "orders", ["by_customer"])[0].state is not DeltaState.PUBLIC
    ground.table.delete("id < 3")
    (result,) = build(ground.catalog, "orders", ["by_customer"], spark=spark)
    assert result.published
    assert ground.entries() == ground.expected()
