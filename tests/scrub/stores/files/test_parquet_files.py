# SPDX-License-Identifier: Apache-2.0
"""Directories of Parquet files: listing, footers, splits."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.relation import RelationFacts
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.files import parquet_files
from scrub.stores.open import open_store
from scrub.stores.split_readers import read_split
from scrub.stores.unreadable import UnreadableSplit
from tests.scrub.stores.sample import no_session, read_natively

ID = Column(name="id", type=parse_type("bigint"))


def pin(root: Path, relation: str = "t", columns: tuple[Column, ...] = (ID,)) -> RelationFacts:
    store = open_store(Store(name="files", kind="spark", format="parquet", path=str(root)))
    return store.pin(relation, None, no_session, columns)


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_files_are_found_at_any_depth_and_hidden_ones_are_not(tmp_path: Path) -> None:
    write(tmp_path / "t/a.parquet", id=[1])
    write(tmp_path / "t/deep/er/b.parquet", id=[2])
    write(tmp_path / "t/_temporary/c.parquet", id=[3])
    write(tmp_path / "t/.hidden.parquet", id=[4])
    write(tmp_path / "t/_year=2024/d.parquet", id=[5])
    facts = pin(tmp_path)
    assert sorted(read_natively(facts, [ID])["id"].to_pylist()) == [1, 2, 5]
    assert facts.snapshot.label.startswith("3 files listed 2")
    assert facts.rows == 3


@pytest.mark.parametrize("name", ["t.parquet", "t"])
def test_a_relation_may_be_a_single_file(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, id=[1])
    assert read_natively(pin(tmp_path), [ID])["id"].to_pylist() == [1]


def test_partition_directories_are_decoded_once(tmp_path: Path) -> None:
    write(tmp_path / "t/p q=a%20b%2525/n=01/f.parquet", id=[1])
    write(tmp_path / "t/p q=__HIVE_DEFAULT_PARTITION__/n=2/f.parquet", id=[2])
    columns = (
        ID,
        Column(name="p q", type=parse_type("string")),
        Column(name="n", type=parse_type("int")),
    )
    facts = pin(tmp_path, columns=columns)
    assert facts.columns == {column.name: column.type for column in columns}
    assert read_natively(facts, columns).to_pylist() == [
        {"id": 2, "p q": None, "n": 2},
        {"id": 1, "p q": "a b%25", "n": 1},
    ]


def test_unreadable_files_stay_in_the_list(tmp_path: Path) -> None:
    write(tmp_path / "t/b.parquet", id=[1])
    (tmp_path / "t/a.parquet").write_bytes(b"")
    (tmp_path / "t/notes.txt").write_text("hello")
    facts = pin(tmp_path)
    assert facts.columns == {"id": ID.type}
    assert [Path(split.uri).name for split in facts.splits] == [
        "a.parquet",
        "b.parquet",
        "notes.txt",
    ]
    unreadable = 0
    for split in facts.splits:
        try:
            list(read_split(split, [ID], {}))
        except UnreadableSplit:
            unreadable += 1
    assert unreadable == 2


def test_without_a_readable_file_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.parquet").write_bytes(b"")
    with pytest.raises(StoreUnavailable, match=r"a\.parquet: not a Parquet file"):
        pin(tmp_path)


def test_a_missing_relation_names_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "orders/a.parquet", id=[1])
    with pytest.raises(RelationMismatch, match="no parquet relation") as caught:
        pin(tmp_path, "ordres")
    assert caught.value.hint == "did you mean orders?"
    with pytest.raises(StoreUnavailable, match="no directory"):
        pin(tmp_path / "nowhere")


def test_columns_of_all_files_and_the_type_of_most(tmp_path: Path) -> None:
    write(tmp_path / "t/1.parquet", id=pa.array([1], pa.int32()))
    write(tmp_path / "t/2.parquet", id=pa.array([2], pa.int64()), ID2=["x"])
    write(tmp_path / "t/3.parquet", id=["odd"], late=[True])
    types = {name: str(type_) for name, type_ in pin(tmp_path).columns.items()}
    assert types == {"id": "bigint", "ID2": "string", "late": "boolean"}
    odd = pin(tmp_path).splits[2]
    with pytest.raises(UnreadableSplit, match="column id is stored as string, not bigint"):
        list(read_split(odd, [ID], {}))


def test_big_files_are_cut_at_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t/big.parquet"
    path.parent.mkdir()
    table = pa.table({"id": range(10_000)})
    pq.write_table(table, path, row_group_size=1000, use_dictionary=False, compression="none")
    monkeypatch.setattr(parquet_files, "SPLIT_BYTES_MAX", 20_000)
    facts = pin(tmp_path)
    assert [split.row_groups for split in facts.splits] == [
        (0, 1), (2, 3), (4, 5), (6, 7), (8, 9)
    ]  # fmt: skip
    assert "row groups 2-3" in facts.splits[1].name
    assert all(split.bytes <= 20_000 for split in facts.splits)
    assert sum(split.rows or 0 for split in facts.splits) == facts.rows == 10_000
    assert read_natively(facts, [ID])["id"].to_pylist() == list(range(10_000))


def test_of_very_many_files_a_sample_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(20):
        write(tmp_path / f"t/{i:02}.parquet", id=[i])
    monkeypatch.setattr(parquet_files, "FOOTERS_MAX", 5)
    facts = pin(tmp_path)
    assert facts.rows == 20
    assert sum(split.rows is not None for split in facts.splits) == 5
