# SPDX-License-Identifier: Apache-2.0
"""Conditional writes to Delta: what they cost, what they keep, and what they refuse."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, WriterProperties, write_deltalake

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.entry_shape import EntryShape
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType, TypeName
from scrub.stores.delta import entries as delta_entries
from scrub.stores.entry_states import Outcome
from scrub.stores.files.parquet_columns import dictionary_columns
from tests.scrub.stores.conditional_writes import DeltaWrites
from tests.scrub.stores.test_write_contract import BY_CUSTOMER, PAIRS, entries

SCHEMA = pa.schema([("customer", pa.int64()), ("id", pa.int64()), ("status", pa.string())])


def writer(root: Path, **options: Any) -> DeltaWrites:
    return DeltaWrites(Store(name="lake", kind="delta", path=str(root)), **options)


def table(root: Path, relation: str = "by_customer") -> DeltaTable:
    return DeltaTable(str(root / relation))


@pytest.fixture
def ten_files(tmp_path: Path) -> Path:
    """Customers 0 to 99 in ten files, each of a range of its own."""
    for first in range(0, 100, 10):
        numbers = list(range(first, first + 10))
        rows = pa.table([numbers, numbers, ["x"] * 10], SCHEMA)
        write_deltalake(str(tmp_path / "by_customer"), rows, mode="append")
    return tmp_path


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    original = delta_entries.open_file

    def counted(uri: str, options: Any) -> Any:
        read.append(uri)
        return original(uri, options)

    monkeypatch.setattr(delta_entries, "open_file", counted)
    return read


def test_the_cost_of_a_write_follows_the_entries_not_the_table(
    ten_files: Path, files_read: list[str]
) -> None:
    before = {a["path"] for a in pa.table(table(ten_files).get_add_actions()).to_pylist()}
    given = entries(BY_CUSTOMER, (3, 3, "x"), (97, 97, "x"))
    assert writer(ten_files).delete_if_equal(BY_CUSTOMER, given) == [Outcome.WRITTEN] * 2
    assert len(set(files_read)) == 2
    after = {a["path"] for a in pa.table(table(ten_files).get_add_actions()).to_pylist()}
    assert len(before & after) == 8
    assert table(ten_files).to_pyarrow_table().num_rows == 98


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_the_right_rows_of_a_large_file_are_taken(tmp_path: Path, ordered: bool) -> None:
    """Rows are known by their place in the file, also when row groups were passed over."""
    numbers = list(range(120_000))
    if not ordered:
        random.Random(1).shuffle(numbers)
    rows = pa.table([numbers, numbers, [str(n) for n in numbers]], SCHEMA)
    groups = WriterProperties(max_row_group_size=25_000)
    write_deltalake(str(tmp_path / "by_customer"), rows, writer_properties=groups)
    gone = [3, 24_999, 25_000, 77_777, 119_999]
    given = entries(BY_CUSTOMER, *((n, n, str(n)) for n in gone))
    assert set(writer(tmp_path).delete_if_equal(BY_CUSTOMER, given)) == {Outcome.WRITTEN}
    left = table(tmp_path).to_pyarrow_table().column("id").to_pylist()
    assert sorted(left) == [n for n in range(120_000) if n not in gone]


def test_texts_of_a_file_that_is_written_again_stay_texts(tmp_path: Path) -> None:
    """They pass through as codes, which other readers must not see."""
    numbers = list(range(100_000))
    rows = pa.table([numbers, numbers, [("open", "paid", None)[n % 3] for n in numbers]], SCHEMA)
    write_deltalake(str(tmp_path / "by_customer"), rows)
    given = entries(BY_CUSTOMER, (5, 5, None), (70_000, 70_000, "paid"))
    assert set(writer(tmp_path).delete_if_equal(BY_CUSTOMER, given)) == {Outcome.WRITTEN}
    (path,) = [file for file in (tmp_path / "by_customer").glob("part-*.parquet") if _is_ours(file)]
    assert pq.read_schema(path).types == SCHEMA.types
    left = pq.read_table(path).to_pylist()
    assert left == [row for row in rows.to_pylist() if row["id"] not in (5, 70_000)]


def test_what_a_writer_noted_in_a_file_is_kept_when_it_is_written_again(tmp_path: Path) -> None:
    """Without the calendar that Spark has noted, old dates would be read as others."""
    rows = pa.table([[1, 2, 3], [1, 2, 3], ["a", "b", "c"]], SCHEMA)
    write_deltalake(str(tmp_path / "by_customer"), rows)
    (file,) = (tmp_path / "by_customer").glob("*.parquet")
    noted = rows.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    pq.write_table(noted, file)
    _tell_size(tmp_path / "by_customer", file)
    given = entries(BY_CUSTOMER, (2, 2, "b"))
    assert set(writer(tmp_path).delete_if_equal(BY_CUSTOMER, given)) == {Outcome.WRITTEN}
    (again,) = set((tmp_path / "by_customer").glob("*.parquet")) - {file}
    assert b"org.apache.spark.legacyDateTime" in pq.read_metadata(again).metadata
    assert b"ARROW:schema" not in pq.read_metadata(again).metadata


def test_timestamps_of_the_type_int96_are_instants_also_when_their_file_is_written_again(
    tmp_path: Path,
) -> None:
    """Spark writes this type, which has no zone; as a time without one, the index was refused."""
    shape = EntryShape(
        relation="by_time",
        indexed=(Column(name="placed", type=ColumnType(TypeName.TIMESTAMP)),),
        suffix=(Column(name="id", type=ColumnType(TypeName.BIGINT)),),
        stored=(),
    )
    placed = pa.array([10**15, None, -(10**12), 3], pa.timestamp("us", "UTC"))
    rows = pa.table({"placed": placed, "id": pa.array(range(4), pa.int64())})
    write_deltalake(str(tmp_path / "by_time"), rows)
    (file,) = (tmp_path / "by_time").glob("*.parquet")
    pq.write_table(rows, file, use_deprecated_int96_timestamps=True)
    _tell_size(tmp_path / "by_time", file)
    store = writer(tmp_path)
    for gone in (0, 3):
        assert store.delete_if_equal(shape, rows.slice(gone, 1)) == [Outcome.WRITTEN]
    left = table(tmp_path, "by_time").to_pyarrow_table().sort_by("id")
    assert left == rows.slice(1, 2)


def _tell_size(table_directory: Path, file: Path) -> None:
    """The log tells how many bytes a file has."""
    log = table_directory / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["size"] = file.stat().st_size
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def test_texts_inside_of_other_values_are_no_codes(tmp_path: Path) -> None:
    """Such a column cannot be read as codes across row groups."""
    tags = [["a", "b"], ["b"]] * 40_000
    pq.write_table(
        pa.table({"n": ["x", "y"] * 40_000, "tags": tags, "s": [{"n": "x"}] * 80_000}),
        tmp_path / "nested.parquet",
        row_group_size=40_000,
    )
    metadata = pq.read_metadata(tmp_path / "nested.parquet")
    assert dictionary_columns(metadata) == ["n"]


def _is_ours(file: Path) -> bool:
    return pq.read_metadata(file).num_rows == 99_998


def test_new_entries_touch_no_file_that_is_there(ten_files: Path) -> None:
    before = {a["path"] for a in pa.table(table(ten_files).get_add_actions()).to_pylist()}
    given = entries(BY_CUSTOMER, (97, 1000, "z"), (3, 2000, "y"), (50, 3000, "x"))
    writer(ten_files).init_put(BY_CUSTOMER, given, fail_on_tombstones=False)
    actions = pa.table(table(ten_files).get_add_actions(flatten=True)).to_pylist()
    (new,) = [action for action in actions if action["path"] not in before]
    assert (new["num_records"], new["min.customer"], new["max.customer"]) == (3, 3, 97)
    rows = pq.read_table(ten_files / "by_customer" / new["path"])
    assert rows.column("customer").to_pylist() == [3, 50, 97], "in the order of keys"


def test_columns_that_entries_do_not_have_are_kept(tmp_path: Path) -> None:
    rows = pa.table([[1, 2], [1, 2], ["x", "y"], [7, 8]], SCHEMA.append(pa.field("n", pa.int64())))
    write_deltalake(str(tmp_path / "by_customer"), rows)
    writer(tmp_path).delete_if_equal(BY_CUSTOMER, entries(BY_CUSTOMER, (1, 1, "x")))
    writer(tmp_path).init_put(
        BY_CUSTOMER, entries(BY_CUSTOMER, (3, 3, "z")), fail_on_tombstones=False
    )
    found = table(tmp_path).to_pyarrow_table().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [(2, 2, "y", 8), (3, 3, "z", None)]


def test_a_partitioned_relation(tmp_path: Path) -> None:
    rows = pa.table([[1, 2, 3], [1, 2, 3], ["ö =/%", None, "y"]], SCHEMA)
    write_deltalake(str(tmp_path / "by_customer"), rows, partition_by=["status"])
    store = writer(tmp_path)
    gone = entries(BY_CUSTOMER, (1, 1, "ö =/%"), (2, 2, None))
    assert store.delete_if_equal(BY_CUSTOMER, gone) == [Outcome.WRITTEN] * 2
    new = entries(BY_CUSTOMER, (4, 4, "ö =/%"), (5, 5, None), (6, 6, "y"))
    assert store.init_put(BY_CUSTOMER, new, fail_on_tombstones=False) == [Outcome.WRITTEN] * 3
    found = table(tmp_path).to_pyarrow_table(columns=SCHEMA.names).sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        (3, 3, "y"),
        (4, 4, "ö =/%"),
        (5, 5, None),
        (6, 6, "y"),
    ]
    assert store.init_put(BY_CUSTOMER, new, fail_on_tombstones=False) == [Outcome.UNCHANGED] * 3


def test_a_file_whose_name_cannot_be_spelled_again_is_refused(ten_files: Path) -> None:
    """A remove in another spelling would leave the file in the table, and the entry with it."""
    log = ten_files / "by_customer" / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"path":"part-', '"path":"p%61rt-'))
    given = entries(BY_CUSTOMER, (3, 3, "x"))
    with pytest.raises(RelationMismatch, match="cannot be removed from its table"):
        writer(ten_files).delete_if_equal(BY_CUSTOMER, given)


def test_a_place_whose_name_delta_rs_trips_over(tmp_path: Path) -> None:
    root = tmp_path / "a%20b #?"
    root.mkdir()
    (tmp_path / "plain").mkdir()
    write_deltalake(str(tmp_path / "plain" / "t"), SCHEMA.empty_table())
    (tmp_path / "plain" / "t").rename(root / "by_customer")
    given = entries(BY_CUSTOMER, (1, 1, "x"))
    store = writer(root)
    assert store.init_put(BY_CUSTOMER, given, fail_on_tombstones=False) == [Outcome.WRITTEN]
    assert store.delete_if_equal(BY_CUSTOMER, given) == [Outcome.WRITTEN]


def test_all_copies_of_an_entry_are_deleted(tmp_path: Path) -> None:
    for _ in range(2):
        rows = pa.table([[1, 1, 2], [1, 1, 2], ["x", "x", "y"]], SCHEMA)
        write_deltalake(str(tmp_path / "by_customer"), rows, mode="append")
    given = entries(BY_CUSTOMER, (1, 1, "x"))
    assert writer(tmp_path).delete_if_equal(BY_CUSTOMER, given) == [Outcome.WRITTEN]
    assert table(tmp_path).to_pyarrow_table().num_rows == 2


def test_features_that_bind_writers_are_refused_by_name(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "by_customer"), SCHEMA.empty_table())
    table(tmp_path).alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(RelationMismatch, match="constraints"):
        writer(tmp_path).delete_if_equal(BY_CUSTOMER, entries(BY_CUSTOMER, (1, 1, "x")))


def test_a_missing_relation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RelationMismatch, match="no Delta table pairs"):
        writer(tmp_path).delete_if_equal(PAIRS, entries(PAIRS, (b"a", b"b")))


def test_whoever_never_gets_a_turn_is_told(ten_files: Path) -> None:
    store = writer(ten_files, sleep=lambda _: None)
    given = entries(BY_CUSTOMER, (3, 3, "x"))

    def always_late(*_: Any) -> bool:
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scrub.stores.delta.files.commit_next", always_late)
        with pytest.raises(StoreUnavailable, match="others committed first"):
            store.delete_if_equal(BY_CUSTOMER, given)
    named = {a["path"] for a in pa.table(table(ten_files).get_add_actions()).to_pylist()}
    there = {path.name for path in (ten_files / "by_customer").glob("*.parquet")}
    assert there == named, "files of commits that failed are removed"


def test_a_commit_whose_answer_was_lost_is_recognised(
    ten_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the commit, but the writer was told that it failed: its files must stay."""
    from deltalake.exceptions import CommitFailedError

    original = DeltaTable.create_write_transaction

    def answer_lost(self: DeltaTable, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        raise CommitFailedError("connection reset")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", answer_lost)
    given = entries(BY_CUSTOMER, (3, 3, "x"))
    assert writer(ten_files).delete_if_equal(BY_CUSTOMER, given) == [Outcome.WRITTEN]
    assert table(ten_files).to_pyarrow_table().num_rows == 99


def test_a_damaged_file_is_named(ten_files: Path) -> None:
    for path in (ten_files / "by_customer").glob("*.parquet"):
        path.write_bytes(b"no parquet")
    with pytest.raises(StoreUnavailable, match="not a Parquet file"):
        writer(ten_files).delete_if_equal(BY_CUSTOMER, entries(BY_CUSTOMER, (3, 3, "x")))


@pytest.mark.parametrize(
    ("numbers", "has_dictionary"),
    [
        ([n // 8 * 37 for n in range(60_000)], False),  # short runs: as small without
        ([n // 2_000 for n in range(60_000)], True),  # long ones
        ([n * n % 7 for n in range(60_000)], True),  # few values in any order
        ([n * 31 for n in range(60_000)], False),  # each its own
    ],
)
def test_a_file_that_is_written_again_has_dictionaries_where_they_make_it_smaller(
    tmp_path: Path, numbers: list[int], has_dictionary: bool
) -> None:
    rows = pa.table([numbers, list(range(60_000)), ["x", "y"] * 30_000], SCHEMA)
    write_deltalake(str(tmp_path / "by_customer"), rows)
    (file,) = (tmp_path / "by_customer").glob("*.parquet")
    given = entries(BY_CUSTOMER, (numbers[5], 5, "y"))
    assert set(writer(tmp_path).delete_if_equal(BY_CUSTOMER, given)) == {Outcome.WRITTEN}
    (again,) = set((tmp_path / "by_customer").glob("*.parquet")) - {file}
    group = pq.read_metadata(again).row_group(0)
    assert group.column(0).has_dictionary_page is has_dictionary
    assert group.column(2).has_dictionary_page, "texts"
    assert table(tmp_path).to_pyarrow_table().num_rows == 59_999


def test_a_handful_of_rows_does_not_decide_about_dictionaries(tmp_path: Path) -> None:
    """A dictionary is too much for what is left of the first rows, and right for all others."""
    rows = pa.table([[n % 7 for n in range(80_000)], list(range(80_000)), [None] * 80_000], SCHEMA)
    write_deltalake(str(tmp_path / "by_customer"), rows)
    (file,) = (tmp_path / "by_customer").glob("*.parquet")
    given = entries(BY_CUSTOMER, *((n % 7, n, None) for n in range(5, 65_536)))
    assert set(writer(tmp_path).delete_if_equal(BY_CUSTOMER, given)) == {Outcome.WRITTEN}
    (again,) = set((tmp_path / "by_customer").glob("*.parquet")) - {file}
    metadata = pq.read_metadata(again)
    assert metadata.num_rows == 80_000 - 65_531
    last = metadata.row_group(metadata.num_row_groups - 1)
    assert last.column(0).has_dictionary_page
