# SPDX-License-Identifier: Apache-2.0
"""Files that are written again while their rows are looked through, and before it is decided."""

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.errors import StoreUnavailable
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.stores.delta import files as delta_files
from scrub.stores.delta import rewriting as delta_rewriting
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.snapshot import SnapshotFile, open_snapshot

ID = Column(name="id", type=ColumnType(TypeName.BIGINT))
BATCH_ROWS = 4


@contextmanager
def opened(root: Path) -> Iterator[tuple[NewFiles, SnapshotFile]]:
    with open_snapshot(str(root), "t", {}) as snapshot, NewFiles(snapshot) as new:
        (file,) = snapshot.files()
        yield new, file


def write(root: Path, length: int) -> None:
    """Rows with a text, which comes as a code, and with a value inside of another."""
    numbers = list(range(length))
    nested = [{"n": n, "texts": [str(n)] * (n % 3)} for n in numbers]
    data = {"nested": nested, "id": numbers, "status": [("open", None)[n % 2] for n in numbers]}
    write_deltalake(str(root / "t"), pa.table(data))


def kept(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(root / "t")).to_pyarrow_table().to_pylist()
    return found


def orphans(root: Path) -> set[str]:
    actions = pa.table(DeltaTable(str(root / "t")).get_add_actions()).to_pylist()
    there = {path.name for path in (root / "t").glob("*.parquet")}
    first = {path.name for path in (root / "t").glob("part-?????-*.parquet")}  # delta-rs's own
    return there - {action["path"] for action in actions} - first


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_rewriting, "ROW_GROUP_ROWS", BATCH_ROWS)


def drafted(new: NewFiles, file: SnapshotFile, leaving: set[int]) -> list[int]:
    """Have a file drafted without the rows of some ids; all ids that were shown."""
    shown: list[int] = []

    def choose(batch: pa.RecordBatch, rows: range) -> Any:
        ids = batch.column("id").to_pylist()
        shown.extend(ids)
        chosen = [row for row, number in zip(rows, ids, strict=True) if number in leaving]
        return np.array(chosen, np.int64)

    new.draft(file, (ID,), choose)
    return shown


def draft_and(root: Path, then: Callable[[NewFiles, SnapshotFile], object]) -> None:
    with opened(root) as (new, file):
        drafted(new, file, {1})
        assert len(list((root / "t").glob("*.parquet"))) > 1
        then(new, file)


@settings(max_examples=40)
@given(
    length=st.integers(1, 30),
    expected=st.sets(st.integers(0, 29)),
    is_right=st.booleans(),
    decided=st.sets(st.integers(0, 29), min_size=1),
    held_batches=st.integers(0, 3),
)
def test_whatever_was_drafted_the_rows_that_are_decided_on_leave(
    length: int, expected: set[int], is_right: bool, decided: set[int], held_batches: int
) -> None:
    decided = {n for n in (expected if is_right and expected else decided) if n < length}
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        root = Path(directory)
        write(root, length)
        before = kept(root)
        patch.setattr(delta_rewriting, "_HELD_BYTES_MAX", held_batches * BATCH_ROWS * 30)
        with opened(root) as (new, file):
            assert drafted(new, file, expected) == list(range(length))
            new.write_again(file, [*decided, *decided])
            assert new.commit([file])
        assert kept(root) == [row for row in before if row["id"] not in decided]
        assert not orphans(root)


def test_a_draft_that_is_right_is_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 20)
    readings: list[Any] = []
    rows = delta_rewriting.Rows

    def counted(*given: Any) -> Any:
        readings.append(given)
        return rows(*given)

    monkeypatch.setattr(delta_files, "Rows", counted)
    with opened(tmp_path) as (new, file):
        drafted(new, file, {3, 17})
        new.write_again(file, [17, 3])
        assert new.commit([file])
    assert len(readings) == 1
    assert len(kept(tmp_path)) == 18


def test_a_file_that_no_row_leaves_is_not_written(tmp_path: Path) -> None:
    write(tmp_path, 20)
    with opened(tmp_path) as (new, file):
        drafted(new, file, {30})
        assert len(list((tmp_path / "t").glob("*.parquet"))) == 1


def test_rows_are_held_back_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a large file that one of its last rows leaves would be in memory as a whole."""
    monkeypatch.setattr(delta_rewriting, "_HELD_BYTES_MAX", 1)
    write(tmp_path, 20)
    with opened(tmp_path) as (new, file):
        assert drafted(new, file, {19}) == list(range(20))
        assert len(list((tmp_path / "t").glob("*.parquet"))) == 1
        new.write_again(file, [19])
        assert new.commit([file])
    assert len(kept(tmp_path)) == 19


def test_a_file_that_every_row_leaves_has_no_successor(tmp_path: Path) -> None:
    write(tmp_path, 9)
    with opened(tmp_path) as (new, file):
        drafted(new, file, set(range(9)))
        new.write_again(file, range(9))
        assert not new.adds
        assert new.commit([file])
    assert kept(tmp_path) == []
    assert not orphans(tmp_path)


def test_drafts_go_when_somebody_else_was_faster_or_something_fails(tmp_path: Path) -> None:
    write(tmp_path, 9)
    with opened(tmp_path) as (new, file):
        drafted(new, file, {1})
        new.write_again(file, [1])
        DeltaTable(str(tmp_path / "t")).delete("id = 8")
        assert not new.commit([file])
    assert not orphans(tmp_path)
    with pytest.raises(ZeroDivisionError):
        draft_and(tmp_path, lambda _new, _file: 1 / 0)
    assert not orphans(tmp_path)
    assert [row["id"] for row in kept(tmp_path)] == list(range(8))


def test_files_of_a_commit_whose_end_nobody_knows_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log may name them. Drafts that were not taken it cannot name."""

    def lost(*_: Any) -> bool:
        raise StoreUnavailable("the line went dead")

    named: list[str] = []

    def commit(new: NewFiles, file: SnapshotFile) -> None:
        new.write_again(file, [2])
        named.extend(add.path for add in new.adds)
        new.commit([file])

    write(tmp_path, 9)
    monkeypatch.setattr(delta_files, "commit_next", lost)
    with pytest.raises(StoreUnavailable):
        draft_and(tmp_path, commit)
    assert orphans(tmp_path) == set(named)
    assert len(named) == 1


def test_a_disk_that_is_full_is_not_called_a_damaged_file(tmp_path: Path) -> None:
    write(tmp_path, 5_000)
    before = kept(tmp_path)
    with opened(tmp_path) as (new, file), files_of_at_most(10_000):
        with pytest.raises(StoreUnavailable, match=r"could not be written: .*File too large"):
            drafted(new, file, {1})
        with pytest.raises(StoreUnavailable, match="could not be written"):
            new.write(pa.table({"id": list(range(9_000))}))
    assert kept(tmp_path) == before
    assert not orphans(tmp_path)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a process gets whose disk is full, or whose files may not grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
