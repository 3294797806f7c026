# SPDX-License-Identifier: Apache-2.0
"""What a task does with one file for checks of whole tables, here the physical one: no Spark."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checks.columns.split_sums import fingerprint_splits
from checks.fault_rows import FaultySplit, NamingSpec, name_faults
from checks.physical_check import PhysicalLook
from checks.scan_spec import EXPECTED, EntrySpec, ScanSpec
from checks.table_look import EVERY_ROW, RowChoice
from checks.task_sums import REPORT_SLOT, NumberedSplit, sums_of
from scrub.codec.digest import Salt
from scrub.model.predicate import ColumnTerm, Comparison, LiteralTerm, Operator
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import parse_type

ID = Column(name="id", type=parse_type("bigint"), nullable=False)
NAME = Column(name="name", type=parse_type("string"), nullable=False)
DAY = Column(name="day", type=parse_type("date"))
BY_NAME = EntrySpec(
    slot=0,
    sign=EXPECTED,
    beside_primary_key=(ColumnTerm("name", NAME.type),),
    conditions=(),
)


def a_split(path: Path, **columns: Any) -> Split:
    pq.write_table(pa.table(columns), path)
    return Split(uri=str(path), bytes=path.stat().st_size)


def a_spec(*, entries: tuple[EntrySpec, ...] = (), physical: bool = True) -> ScanSpec:
    return ScanSpec(
        columns=(ID, NAME) if entries else (),
        primary_key=("id",),
        bucket_bits=4,
        salt=Salt(1, 2),
        entries=entries,
        looks={"physical": PhysicalLook((ID, NAME, DAY))} if physical else {},
    )


def scan(spec: ScanSpec, *splits: Split) -> tuple[list[dict[str, Any]], Any]:
    """The reports, and all sums added up."""
    numbered = [NumberedSplit(number, 0, split) for number, split in enumerate(splits)]
    reports, total = [], np.zeros(4, dtype=np.uint64)
    for batch in fingerprint_splits(numbered, {0: spec}):
        for row in batch.to_pylist():
            if row["slot"] == REPORT_SLOT:
                reports.append(json.loads(row["report"]))
            else:
                total += sums_of(row["sums"]).sum(axis=0)
    return reports, total.tolist()


def named(
    *splits: Split, limit: int | None = None, looked_at: RowChoice = EVERY_ROW
) -> Sequence[dict[str, Any]]:
    spec = NamingSpec(look=PhysicalLook((ID, NAME, DAY)), looked_at=looked_at, key=(ID,))
    faulty = [FaultySplit(number, split, True) for number, split in enumerate(splits)]
    return [row for batch in name_faults(faulty, spec, limit) for row in batch.to_pylist()]


def test_sums_are_the_same_with_and_without_a_look_at_values(tmp_path: Path) -> None:
    split = a_split(
        tmp_path / "a", id=[1, 2, 3], name=["a", None, "c"], day=pa.array([1, None, 3], pa.date32())
    )
    without, sums = scan(a_spec(entries=(BY_NAME,), physical=False), split)
    with_look, same = scan(a_spec(entries=(BY_NAME,)), split)
    assert same == sums
    assert "riding" not in without[0]
    assert with_look[0]["riding"]["physical"] == {
        "rows": 3,
        "faults": [["name", "null_violation", 1]],
        "misfits": [],
    }
    assert with_look[0]["bytes"] > without[0]["bytes"]


def test_a_type_spoils_the_sums_only_if_an_entry_needs_the_column(tmp_path: Path) -> None:
    beside = a_split(tmp_path / "a", id=[1, 2], name=["a", "b"], day=["not", "dates"])
    reports, (count, *_) = scan(a_spec(entries=(BY_NAME,)), beside)
    assert "error" not in reports[0]
    assert count == 2
    assert reports[0]["riding"]["physical"]["misfits"] == ["day"]
    needed = a_split(tmp_path / "b", id=[1, 2], name=[7, 8], day=pa.array([1, None], pa.date32()))
    reports, (count, *_) = scan(a_spec(entries=(BY_NAME,)), beside, needed)
    assert count == 2
    assert reports[1]["error"] == "column name is stored as bigint, not string"
    assert reports[1]["riding"]["physical"] == {"rows": 2, "faults": [], "misfits": ["name"]}
    rows = named(beside, needed)
    assert [(r["part"], r["place"], r["column"], r["detail"]) for r in rows] == [
        (0, -1, "day", "column day is stored as string, not date"),
        (1, -1, "name", "column name is stored as bigint, not string"),
    ]


def test_a_file_without_rows_still_tells_its_types(tmp_path: Path) -> None:
    empty = a_split(tmp_path / "a", id=pa.array([], pa.string()), name=pa.array([], pa.string()))
    (report,), _ = scan(a_spec(entries=(BY_NAME,)), empty)
    assert report["error"] == "column id is stored as string, not bigint"
    assert report["riding"]["physical"]["misfits"] == ["id"]
    assert [row["column"] for row in named(empty)] == ["id"]


def test_damage_in_a_column_that_no_entry_needs_leaves_the_sums(tmp_path: Path) -> None:
    days = pa.array(np.random.default_rng(5).integers(0, 10_000, 2_000), pa.int32())
    path = tmp_path / "a"
    split = a_split(path, id=list(range(2_000)), name=["a"] * 2_000, day=days.cast(pa.date32()))
    chunk = pq.read_metadata(path).row_group(0).column(2)
    octets = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    octets[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(octets)
    (report,), (count, *_) = scan(a_spec(entries=(BY_NAME,)), split)
    assert count == 2_000
    assert "error" not in report
    assert report["riding"]["physical"].keys() == {"error"}
    (row,) = named(split)
    assert row["kind"] is None


def test_rows_are_named_with_key_and_place_up_to_the_limit(tmp_path: Path) -> None:
    name = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a", b"\xff", None]).buffers())
    split = a_split(tmp_path / "a", id=[7, 8, None], name=name)
    rows = named(split)
    assert [(r["place"], r["kind"], r["column"], r["primary_key"]) for r in rows] == [
        (1, "invalid_encoding", "name", ["8"]),
        (2, "null_violation", "id", [None]),
        (2, "null_violation", "name", [None]),
    ]
    assert rows[0]["value_hex"] == "ff"
    assert named(split, limit=2) == rows[:2]
    assert named(split, limit=0) == []


def test_conditions_choose_the_rows_that_are_counted_and_named(tmp_path: Path) -> None:
    condition = Comparison(ColumnTerm("id", ID.type), Operator.LESS, LiteralTerm(3, ID.type))
    chosen = RowChoice(conditions=(condition,), columns=(ID,))
    spec = replace(a_spec(), columns=(ID,), looked_at=chosen)
    split = a_split(tmp_path / "a", id=[1, 2, 3, 4, None], name=["a", None, None, "d", None])
    (report,), _ = scan(spec, split)
    assert report["riding"]["physical"] == {
        "rows": 2,
        "faults": [["name", "null_violation", 1]],
        "misfits": [],
    }
    assert [row["primary_key"] for row in named(split, looked_at=chosen)] == [["2"]]
