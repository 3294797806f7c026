# SPDX-License-Identifier: Apache-2.0
"""Spark SQL and the compiled loops compute one and the same digest, for every type."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.codec.digest import TEST_VECTOR, RowDigests, Salt
from scrub.model.types import parse_type
from scrub.spark.digest import bucket_of, digest_pair
from scrub.spark.names import named
from tests.checks.trials import ARROW, POOLS

pytestmark = pytest.mark.spark


def every_type() -> pa.Table:
    """A row for each value of the longest pool, with NULL at different places."""
    size = max(len(pool) for pool in POOLS.values()) + 2
    columns = {
        kind: pa.array(([None, *pool] * size)[:size], ARROW[kind]) for kind, pool in POOLS.items()
    }
    return pa.table(columns)


@pytest.mark.parametrize("kind", [*POOLS, "all of them"])
def test_both_engines_agree_on(kind: str, spark: Any, ansi_mode: str, tmp_path: Path) -> None:
    table = every_type()
    pq.write_table(table, tmp_path / "every_type.parquet")
    names = list(POOLS) if kind == "all of them" else [kind]
    salt = Salt.fresh()
    typed = [(named(name), parse_type(name)) for name in names]
    frame = spark.read.parquet(str(tmp_path / "every_type.parquet"))
    found = frame.select(*digest_pair(typed, salt), bucket_of(typed, salt, 18)).collect()
    rows = RowDigests.start(len(table), salt).fold(
        [table.column(name).combine_chunks() for name in names], salt
    )
    expected = [
        (first, second, first >> 46)
        for first, second in zip(rows.first.tolist(), rows.second.tolist(), strict=True)
    ]
    assert [(row[0] % 2**64, row[1] % 2**64, row[2]) for row in found] == expected


def test_spark_gives_the_test_vector(spark: Any) -> None:
    types = {"a": "bigint", "b": "string", "c": "double"}
    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    rows = spark.createDataFrame([(7, "é", None), (None, None, -0.0)], schema)
    typed = [(named(name), parse_type(kind)) for name, kind in types.items()]
    found = rows.select(*digest_pair(typed, Salt(first=1, second=-2))).collect()
    words = [row[0] % 2**64 for row in found] + [row[1] % 2**64 for row in found]
    assert tuple(words) == TEST_VECTOR
