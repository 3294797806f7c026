# SPDX-License-Identifier: Apache-2.0
"""A fault has one id, whichever file holds it and whichever engine reads it."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.app import run_check
from scrub.model.request import CheckRequest, Engine
from tests.builders import write_catalog

pytestmark = pytest.mark.spark

PARQUET = {"kind": "spark", "format": "parquet", "path": "."}
COLUMNS = {
    "id": "bigint",
    "region": "string",
    "price": "decimal(10,2)",
    "ratio": "double",
    "part": "float",
    "day": "date",
    "at": "timestamp",
    "wall": "timestamp_ntz",
    "octets": "binary",
    "open": "boolean",
}
NOON = datetime(2026, 11, 16, 12, 0, 0, 120_000)
ROWS = pa.table(
    {
        "id": pa.array([1, None, None, None, 5], pa.int64()),
        "region": pa.array(["n", "s", "s", None, "ü"]),
        "price": pa.array([Decimal("1.10")] * 5, pa.decimal128(10, 2)),
        "ratio": pa.array([1e20, 1e-7, 0.1, -0.0, 2.0]),
        "part": pa.array([1.5, 0.1, 1e10, 3.0, 2.0], pa.float32()),
        "day": pa.array([date(2026, 1, 1)] * 5, pa.date32()),
        "at": pa.array([NOON] * 5, pa.timestamp("us", tz="UTC")),
        "wall": pa.array([NOON] * 5, pa.timestamp("us")),
        "octets": pa.array([b"\x00\xff"] * 5),
        "open": pa.array([True, False, None, True, True]),
    }
)


def lake(directory: Path, columns: dict[str, str], *files: pa.Table) -> Path:
    (directory / "orders").mkdir(parents=True)
    for number, rows in enumerate(files):
        pq.write_table(rows, directory / "orders" / f"{directory.name}-{number}.parquet")
    return write_catalog(directory, {}, columns, PARQUET)


def ids(catalog: Path, spark: Any, engine: Engine) -> list[str]:
    request = CheckRequest(catalog=catalog, checks=("physical",), engine=engine)
    return sorted(defect.id for defect in run_check(request, spark=spark).defects)


def test_rows_without_a_key_have_one_id_in_every_file_and_engine(
    tmp_path: Path, spark: Any
) -> None:
    before = lake(tmp_path / "before", COLUMNS, ROWS.slice(0, 2), ROWS.slice(2))
    names = list(reversed(COLUMNS))
    after = lake(
        tmp_path / "after", {n: COLUMNS[n] for n in names}, ROWS.select(names).take([4, 3, 2, 1, 0])
    )
    native = ids(before, spark, Engine.NATIVE)
    assert len(set(native)) == 3
    assert ids(before, spark, Engine.SQL) == native
    assert ids(after, spark, Engine.NATIVE) == native
    assert ids(after, spark, Engine.SQL) == native


def test_a_column_of_another_type_has_one_id_in_every_file_and_engine(
    tmp_path: Path, spark: Any
) -> None:
    columns = COLUMNS | {"region": "int"}
    before = lake(tmp_path / "before", columns, ROWS.slice(0, 1))
    after = lake(tmp_path / "after", columns, ROWS.slice(0, 1), ROWS.slice(4))
    (native,) = ids(before, spark, Engine.NATIVE)
    assert set(ids(after, spark, Engine.NATIVE)) == {native}
    assert ids(after, spark, Engine.SQL) == [native]
