# SPDX-License-Identifier: Apache-2.0
"""Frames of exactly the files asked for: nothing globbed, nothing skipped, no value lost."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.base import ReadableStore
from scrub.stores.delta import store as delta_module
from scrub.stores.delta.store import DeltaStore
from scrub.stores.files import parquet_files, partitioned_frame
from scrub.stores.open import open_store
from scrub.stores.unreadable import UnreadableSplit
from tests.scrub.stores.delta import delta_tables as delta
from tests.scrub.stores.delta.test_store import PARTITION_VALUES, columns_of, partitioned
from tests.scrub.stores.sample import no_session, read_natively, read_through_spark

pytestmark = pytest.mark.spark
ID = Column(name="id", type=parse_type("bigint"))


@pytest.fixture
def lake(tmp_path: Path) -> DeltaStore:
    return DeltaStore(Store(name="lake", kind="delta", path=str(tmp_path)))


@pytest.fixture
def files(tmp_path: Path) -> ReadableStore:
    return open_store(Store(name="files", kind="spark", format="parquet", path=str(tmp_path)))


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.sort_by("id").to_pylist()
    return rows


@pytest.mark.parametrize("type_", PARTITION_VALUES)
def test_partition_values_agree_with_native_reading(
    lake: DeltaStore, tmp_path: Path, spark: Any, ansi_mode: str, type_: str
) -> None:
    table = partitioned(tmp_path, type_, PARTITION_VALUES[type_])
    facts = lake.pin("t", None, no_session, ())
    assert read_through_spark(lake, spark, facts, columns_of(facts)).sort_by("id").equals(table)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many groups each union had, if there was one."""
    unions: list[int] = []
    original = partitioned_frame._union_of_groups

    def counted(files: Sequence[Split], *rest: Any) -> Any:
        unions.append(len(files))
        return original(files, *rest)

    monkeypatch.setattr(partitioned_frame, "_union_of_groups", counted)
    return unions


def test_paths_that_spell_their_values_need_one_read(
    lake: DeltaStore, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = partitioned(tmp_path, "string", ["01", "a b", None, "[x]{y}*"])
    unions = count_reads(monkeypatch)
    facts = lake.pin("t", None, no_session, ())
    assert read_through_spark(lake, spark, facts, columns_of(facts)).sort_by("id").equals(table)
    assert unions == []


def test_paths_that_say_nothing_are_read_by_group(
    lake: DeltaStore, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = partitioned(tmp_path, "int", [1, 2, 3])

    def flatten(action: delta.Action) -> delta.Action:
        if "add" in action:
            path = tmp_path / "t" / action["add"]["path"].replace("%20", " ")
            path.rename(tmp_path / "t" / path.name)
            action["add"]["path"] = path.name
        return action

    delta.edit(tmp_path / "t", 0, flatten)
    unions = count_reads(monkeypatch)
    facts = lake.pin("t", None, no_session, ())
    wanted = columns_of(facts)[::-1]
    found = read_through_spark(lake, spark, facts, wanted)
    assert found.sort_by("id").select(["id", "p q"]).equals(table)
    assert unions == [3]
    monkeypatch.setattr(partitioned_frame, "GROUPS_MAX", 2)
    with pytest.raises(RelationMismatch, match="3 partitions"):
        lake.frame(spark, facts, wanted, facts.splits)


@pytest.mark.parametrize("name", ["[x]", "{a,b}", "*", "?", "b\\s", "%20", "#", "a b", "é", "-"])
def test_no_character_of_a_path_is_special(
    files: ReadableStore, tmp_path: Path, spark: Any, name: str
) -> None:
    """Told not to glob, Spark reads two files of a path with brackets twice each."""
    directory = tmp_path / "t" / name
    directory.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), directory / f"1 {name}.parquet")
    pq.write_table(pa.table({"id": [2]}), directory / f"2 {name}.parquet")
    facts = files.pin("t", None, no_session, [ID])
    assert sorted_rows(read_through_spark(files, spark, facts, [ID])) == [{"id": 1}, {"id": 2}]
    assert sorted_rows(read_natively(facts, [ID])) == [{"id": 1}, {"id": 2}]


@pytest.fixture
def forgiving_session(spark: Any) -> Iterator[Any]:
    """A borrowed session that was told to skip what it cannot read."""
    names = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
    for name in names:
        spark.conf.set(name, "true")
    yield spark
    for name in names:
        spark.conf.unset(name)


def some_files(directory: Path) -> None:
    directory.mkdir()
    for i in range(3):
        pq.write_table(pa.table({"id": [i]}), directory / f"{i}.parquet")


def test_a_file_that_is_gone_is_not_skipped(
    files: ReadableStore, tmp_path: Path, forgiving_session: Any
) -> None:
    some_files(tmp_path / "t")
    facts = files.pin("t", None, no_session, [ID])
    (tmp_path / "t/1.parquet").unlink()
    with pytest.raises(UnreadableSplit, match=r"1\.parquet: the file is gone"):
        files.frame(forgiving_session, facts, [ID], facts.splits)


@pytest.mark.parametrize("content", [b"", b"not Parquet at all"])
def test_a_file_that_is_no_parquet_is_not_skipped(
    files: ReadableStore, tmp_path: Path, forgiving_session: Any, content: bytes
) -> None:
    some_files(tmp_path / "t")
    (tmp_path / "t/1.parquet").write_bytes(content)
    facts = files.pin("t", None, no_session, [ID])
    with pytest.raises(Exception, match=r"1\.parquet"):
        files.frame(forgiving_session, facts, [ID], facts.splits).collect()
    others = [split for split in facts.splits if not split.uri.endswith("1.parquet")]
    assert files.frame(forgiving_session, facts, [ID], others).count() == 2


def test_a_file_that_changed_is_not_read(files: ReadableStore, tmp_path: Path, spark: Any) -> None:
    some_files(tmp_path / "t")
    facts = files.pin("t", None, no_session, [ID])
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "t/1.parquet")
    with pytest.raises(UnreadableSplit, match="in the snapshot"):
        files.frame(spark, facts, [ID], facts.splits)


def test_a_file_of_another_type_is_named(files: ReadableStore, tmp_path: Path, spark: Any) -> None:
    some_files(tmp_path / "t")
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "t/1.parquet")
    facts = files.pin("t", None, no_session, [ID])
    with pytest.raises(Exception, match=r"1\.parquet"):
        files.frame(spark, facts, [ID], facts.splits).collect()


def test_names_that_spark_hides_are_refused(lake: DeltaStore, tmp_path: Path, spark: Any) -> None:
    delta.write(tmp_path / "t", id=[1])

    def hide(action: delta.Action) -> delta.Action:
        if "add" in action:
            (tmp_path / "t" / action["add"]["path"]).rename(tmp_path / "t/_f.parquet")
            action["add"]["path"] = "_f.parquet"
        return action

    delta.edit(tmp_path / "t", 0, hide)
    facts = lake.pin("t", None, no_session, ())
    assert sorted_rows(read_natively(facts, [ID])) == [{"id": 1}]
    with pytest.raises(RelationMismatch, match=r"_f\.parquet"):
        lake.frame(spark, facts, [ID], facts.splits)


def test_a_file_cut_in_splits_is_read_once_and_whole(
    files: ReadableStore, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"id": range(100)}), tmp_path / "t/f.parquet", row_group_size=10)
    monkeypatch.setattr(parquet_files, "SPLIT_BYTES_MAX", 300)
    facts = files.pin("t", None, no_session, [ID])
    assert len(facts.splits) > 1
    assert files.frame(spark, facts, [ID], facts.splits).count() == 100
    with pytest.raises(ValueError, match="only some row groups"):
        files.frame(spark, facts, [ID], facts.splits[:1])


def test_schema_evolution_agrees_with_native_reading(
    lake: DeltaStore, tmp_path: Path, spark: Any
) -> None:
    delta.write(tmp_path / "t", id=[1])
    new = pa.table({"id": [2], "note": ["x"]})
    write_deltalake(str(tmp_path / "t"), new, mode="append", schema_mode="merge")
    facts = lake.pin("t", None, no_session, ())
    wanted = columns_of(facts)
    found = sorted_rows(read_through_spark(lake, spark, facts, wanted))
    assert found == sorted_rows(read_natively(facts, wanted))
    assert found == [{"id": 1, "note": None}, {"id": 2, "note": "x"}]


def test_without_deltas_jars_a_session_does_not_help(
    lake: DeltaStore, tmp_path: Path, spark: Any
) -> None:
    delta.with_edits(tmp_path, delta.REFUSED["deletion vectors"])
    with pytest.raises(RelationMismatch, match="deletion vectors"):
        lake.pin("t", None, lambda: spark, ())


def test_with_deltas_jars_spark_reads_what_files_do_not_tell(
    lake: DeltaStore, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stand_in(session: Any, uri: str, version: int) -> Any:
        assert (uri, version) == (str(tmp_path / "t"), 0)
        return session.createDataFrame([(7, "x")], "id int, extra string")

    delta.with_edits(tmp_path, delta.REFUSED["deletion vectors"])
    monkeypatch.setattr(delta_module, "_load_by_source", stand_in)
    facts: RelationFacts = lake.pin("t", None, lambda: spark, ())
    assert not facts.native
    assert "deletion vectors" in facts.native_reason
    assert facts.snapshot.version == 0
    assert sorted_rows(read_through_spark(lake, spark, facts, [ID])) == [{"id": 7}]
