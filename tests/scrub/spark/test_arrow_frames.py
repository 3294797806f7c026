# SPDX-License-Identifier: Apache-2.0
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from scrub.spark.arrow_frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMPTY = pa.array([], pa.int64())


@pytest.mark.spark
@pytest.mark.parametrize(
    "chunks",
    [[EMPTY], [EMPTY, EMPTY, pa.array([1, 2])], [pa.array([1]), EMPTY, EMPTY, pa.array([2])]],
    ids=["none", "behind empty chunks", "around empty chunks"],
)
def test_no_row_is_lost_to_empty_chunks(spark: "SparkSession", chunks: list[pa.Array]) -> None:
    table = pa.table({"a": pa.chunked_array(chunks)})
    assert [row["a"] for row in frame_of(spark, table).collect()] == table["a"].to_pylist()
