# SPDX-License-Identifier: Apache-2.0
"""Names and values that nobody should have; every engine says the same of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checks.columns.sql_looks import SqlLook
from scrub.model.request import Engine
from scrub.model.result import RunResult
from tests.checks.constraints import lakes

pytestmark = pytest.mark.spark

BOTH = [Engine.AUTO, Engine.SQL]
PLAIN = {"id": "bigint", "v": "int"}


def by_engine(catalog: Path, spark: Any) -> list[RunResult]:
    return [lakes.check(catalog, spark, engine=engine) for engine in BOTH]


def ids(result: RunResult) -> list[str]:
    return sorted(defect.id for defect in result.defects)


def test_tables_and_constraints_with_dots_in_their_names_are_told_apart(
    tmp_path: Path, spark: Any
) -> None:
    lakes.write_table(tmp_path, "one", PLAIN, (1, 1), (2, -1))
    lakes.write_table(tmp_path, "two", PLAIN, (1, 5), (2, 50))
    tables = {
        "a.b": lakes.a_table(PLAIN, relation="one", checks={"c": "v > 0"}),
        "a": lakes.a_table(PLAIN, relation="two", checks={"b.c": "v > 10"}),
    }
    for result in by_engine(lakes.write_catalog(tmp_path, tables), spark):
        assert lakes.found(result, "a.b") == [("c", 2)]
        assert lakes.found(result, "a") == [("b.c", 1)]


def test_strings_that_are_not_utf8_have_one_id_in_every_engine(tmp_path: Path, spark: Any) -> None:
    octets = pa.array([b"\xff", b"\xff", b"\xfe", b"\xef\xbf\xbd", b"a"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(octets), octets.buffers())
    for name in ("keys", "names"):
        (tmp_path / name).mkdir()
    values = pa.array([1, 1, -1, -1, 1], pa.int32())
    pq.write_table(pa.table({"k": texts, "v": values}), tmp_path / "keys" / "0.parquet")
    numbers = pa.array([1, 2, 3, 4, 5], pa.int64())
    pq.write_table(pa.table({"id": numbers, "k": texts}), tmp_path / "names" / "0.parquet")
    lakes.write_table(tmp_path, "known", {"k": "string"}, ("a",))
    keys = lakes.a_table({"k": "string", "v": "int"}, checks={"c": "v > 0", "s": "abs(v) = v"})
    named = lakes.a_table(
        {"id": "bigint", "k": "string"},
        unique={"u": ["k"]},
        foreign_keys={"f": lakes.refers("known", "k")},
    )
    tables = {"keys": keys, "names": named, "known": lakes.a_table({"k": "string"})}
    auto, sql = by_engine(lakes.write_catalog(tmp_path, tables), spark)
    assert ids(auto) == ids(sql)
    bad = ["\\xfe", "\ufffd"]
    assert lakes.found(auto, "keys") == [
        *(("c", key) for key in bad),
        ("primary_key", "\\xff"),
        *(("s", key) for key in bad),
    ]
    assert lakes.found(auto, "names") == [*(("f", n) for n in (1, 2, 3, 4)), ("u", 1), ("u", 2)]


def test_dates_outside_the_calendar_have_one_id_in_every_engine(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "far").mkdir()
    days = pa.array([4_000_000, -1_000_000, 4_000_000], pa.int32()).view(pa.date32())
    values = pa.array([-1, -1, 1], pa.int32())
    pq.write_table(pa.table({"day": days, "v": values}), tmp_path / "far" / "0.parquet")
    table = lakes.a_table({"day": "date", "v": "int"}, checks={"c": "v > 0", "s": "abs(v) = v"})
    auto, sql = by_engine(lakes.write_catalog(tmp_path, {"far": table}), spark)
    assert ids(auto) == ids(sql)
    assert ("primary_key", "4000000 days") in lakes.found(auto, "far")


def test_a_file_that_is_lost_after_counting_is_told(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lakes.write_table(tmp_path, "t", PLAIN, (1, -1), (2, 1), (3, -3))
    catalog = lakes.write_catalog(tmp_path, {"t": lakes.a_table(PLAIN, checks={"s": "abs(v) = v"})})
    name_rows = SqlLook.named

    def lose(look: SqlLook, rows: Any) -> Any:
        lakes.zero(tmp_path / "t" / "1.parquet")
        return name_rows(look, rows)

    monkeypatch.setattr(SqlLook, "named", lose)
    result = lakes.check(catalog, spark, engine=Engine.SQL, constraints=("s",))
    assert lakes.outcome_of(result, "s").defects == 2
    assert lakes.found(result, "t") == [("s", 1)]
    (note,) = (n for n in lakes.outcome_of(result, "s").notes if "could be named" in n)
    assert "1.parquet" in note
