# SPDX-License-Identifier: Apache-2.0
"""Reading one Parquet split: right types, exact byte counts, and one line for what is wrong."""

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.stores.files.parquet_scan import SplitReader
from scrub.stores.split_readers import read_split
from scrub.stores.unreadable import UnreadableSplit


def column(name: str, type_: str) -> Column:
    return Column(name=name, type=parse_type(type_))


def write(path: Path, table: pa.Table, **options: Any) -> Split:
    pq.write_table(table, path, **options)
    return Split(uri=str(path), bytes=path.stat().st_size)


def values(split: Split, *columns: Column) -> list[dict[str, Any]]:
    return [row for batch in read_split(split, columns, {}) for row in batch.to_pylist()]


def reason(split: Split, *columns: Column) -> str:
    with pytest.raises(UnreadableSplit) as caught:
        values(split, *columns)
    assert caught.value.split_name == split.name
    assert "\n" not in caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize(
    ("stored", "wanted", "one"),
    [
        (pa.int8(), "bigint", 1),
        (pa.int32(), "bigint", 1),
        (pa.uint32(), "bigint", 1),
        (pa.float32(), "double", 1.0),
        (pa.int16(), "decimal(10,2)", Decimal("1.00")),
        (pa.int64(), "decimal(19,0)", Decimal(1)),
        (pa.large_string(), "string", "1"),
        (
            pa.timestamp("ms", tz="Europe/Berlin"),
            "timestamp",
            datetime(1970, 1, 1, 0, 0, 0, 1000, UTC),
        ),
        (pa.timestamp("s"), "timestamp_ntz", datetime(1970, 1, 1, 0, 0, 1)),
    ],
)
def test_narrower_values_are_widened(
    tmp_path: Path, stored: pa.DataType, wanted: str, one: object
) -> None:
    table = pa.table({"a": pa.array([1, None], pa.int64()).cast(stored)})
    split = write(tmp_path / "f.parquet", table)
    assert [row["a"] for row in values(split, column("a", wanted))] == [one, None]


def test_decimals_are_widened_by_value(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([Decimal("1.5")], pa.decimal128(5, 1))})
    split = write(tmp_path / "f.parquet", table)
    assert values(split, column("a", "decimal(10,2)")) == [{"a": Decimal("1.50")}]
    assert "decimal(5,1), not decimal(5,2)" in reason(split, column("a", "decimal(5,2)"))


@pytest.mark.parametrize(
    ("stored", "wanted", "says"),
    [
        (pa.string(), "decimal(10,2)", "stored as string, not decimal(10,2)"),
        (pa.int64(), "int", "stored as bigint, not int"),
        (pa.float64(), "float", "stored as double, not float"),
        (pa.timestamp("us"), "timestamp", "stored as timestamp_ntz, not timestamp"),
        (pa.timestamp("us", tz="UTC"), "timestamp_ntz", "stored as timestamp, not timestamp_ntz"),
        (pa.timestamp("ns"), "timestamp_ntz", "stored as timestamp[ns], not timestamp_ntz"),
        (pa.list_(pa.int64()), "bigint", "not bigint"),
    ],
)
def test_other_types_are_never_converted(
    tmp_path: Path, stored: pa.DataType, wanted: str, says: str
) -> None:
    split = write(tmp_path / "f.parquet", pa.table({"amount": pa.array([], stored)}))
    assert reason(split, column("amount", wanted)).endswith(says)
    assert reason(split, column("amount", wanted)).startswith("column amount is stored as")


def test_int96_is_an_instant(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 1, 1, 2, 3, 456789)
    split = write(
        tmp_path / "f.parquet",
        pa.table({"t": pa.array([moment], pa.timestamp("us"))}),
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    assert values(split, column("t", "timestamp")) == [{"t": moment.replace(tzinfo=UTC)}]
    assert "not timestamp_ntz" in reason(split, column("t", "timestamp_ntz"))


def test_a_dot_in_a_name_is_not_a_field_of_a_struct(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": pa.array([{"b": 10, "c": [1]}]),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "a.b": [1],
            'q`"x y': ["s"],
        }
    )
    split = write(tmp_path / "f.parquet", table)
    wanted = (column('q`"x y', "string"), column("a.b", "bigint"))
    assert values(split, *wanted) == [{'q`"x y': "s", "a.b": 1}]


def test_names_match_in_another_case_unless_that_is_ambiguous(tmp_path: Path) -> None:
    one = write(tmp_path / "one.parquet", pa.table({"ID": [1]}))
    assert values(one, column("id", "bigint")) == [{"id": 1}]
    two = write(tmp_path / "two.parquet", pa.table({"ID": [1], "Id": [2]}))
    assert values(two, column("Id", "bigint")) == [{"Id": 2}]
    assert "several columns" in reason(two, column("id", "bigint"))


def test_few_distinct_strings_come_as_codes_and_many_do_not(tmp_path: Path) -> None:
    rows = 5000
    table = pa.table(
        {
            "status": pa.array(["open", "closed", None, "void"] * (rows // 4)),
            "email": [f"{i}@example.org" for i in range(rows)],
        }
    )
    split = write(tmp_path / "f.parquet", table)
    wanted = [column("status", "string"), column("email", "string")]
    (batch,) = read_split(split, wanted, {})
    assert batch.schema.field("status").type == pa.dictionary(pa.int32(), pa.string())
    assert batch.schema.field("email").type == pa.string()
    assert pa.Table.from_batches([batch]).cast(table.schema).equals(table)


def test_partition_values_are_constants_and_win_over_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "f.parquet", pa.table({"id": [1, 2], "day": ["wrong", "wrong"]}))
    split = Split(
        uri=file.uri, bytes=file.bytes, partition={"day": "2024-02-29", "n": "01", "none": None}
    )
    wanted = (column("day", "date"), column("n", "string"), column("none", "int"))
    assert [str(row["day"]) for row in values(split, *wanted)] == ["2024-02-29"] * 2
    assert [(row["n"], row["none"]) for row in values(split, *wanted)] == [("01", None)] * 2
    assert "'01' is not a value of type date" in reason(split, column("n", "date"))


def test_absent_columns_are_null(tmp_path: Path) -> None:
    split = write(tmp_path / "f.parquet", pa.table({"id": [1]}))
    assert values(split, column("new", "decimal(4,2)")) == [{"new": None}]


def test_bytes_read_are_those_of_the_wanted_chunks(tmp_path: Path) -> None:
    table = pa.table({"a": range(1000), "b": range(1000), "c": [Decimal(1)] * 1000})
    split = write(tmp_path / "f.parquet", table, row_group_size=300)
    metadata = pq.read_metadata(split.uri)
    wanted = sum(metadata.row_group(g).column(1).total_compressed_size for g in (1, 2))
    part = Split(uri=split.uri, bytes=1, row_groups=(1, 2))
    reader = SplitReader(part, [column("b", "bigint")], {}, batch_rows=100)
    read = [value for batch in reader.batches() for value in batch.column(0).to_pylist()]
    assert read == list(range(300, 900))
    assert reader.bytes_read == wanted


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    match how:
        case "gone":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case "text":
            path.write_bytes(b"id,name\n1,x\n" * 10)
        case "page":
            path.write_bytes(content[:4] + b"\xff" * 200 + content[204:])


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("gone", "the file is gone"),
        ("empty", "no Parquet footer"),
        ("truncated", "no Parquet footer"),
        ("text", "no Parquet footer"),
        ("page", "damaged Parquet"),
    ],
)
def test_damage_is_named_in_one_line(tmp_path: Path, how: str, says: str) -> None:
    path = tmp_path / "f.parquet"
    write(path, pa.table({"id": range(1000)}), use_dictionary=False, compression="none")
    damage(path, how)
    size = path.stat().st_size if path.exists() else 0
    assert says in reason(Split(uri=str(path), bytes=size), column("id", "bigint"))


def test_a_file_of_another_size_is_another_file(tmp_path: Path) -> None:
    split = write(tmp_path / "f.parquet", pa.table({"id": [1]}))
    grown = Split(uri=split.uri, bytes=split.bytes + 1)
    assert f"but had {split.bytes + 1} in the snapshot" in reason(grown, column("id", "bigint"))


def test_old_dates_in_the_legacy_calendar_are_left_to_spark(tmp_path: Path) -> None:
    def file(name: str, days: Sequence[int]) -> Split:
        table = pa.table({"d": pa.array(days, pa.int32()).cast(pa.date32())})
        schema = table.schema.with_metadata({"org.apache.spark.legacyDateTime": ""})
        return write(tmp_path / name, table.cast(schema))

    assert len(values(file("new.parquet", [0, 1]), column("d", "date"))) == 2
    assert "legacy calendar" in reason(file("old.parquet", [0, -200_000]), column("d", "date"))


def test_the_error_survives_the_way_back_from_a_task() -> None:
    error = pickle.loads(pickle.dumps(UnreadableSplit("a", "b")))
    assert (error.split_name, error.reason, str(error)) == ("a", "b", "a: b")
