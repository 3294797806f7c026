# SPDX-License-Identifier: Apache-2.0
"""Arrow tables as frames, with all their rows."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """A frame of the table's rows.

    PySpark 4 loses rows of a table that has empty chunks, as filtered and concatenated ones do.
    """
    return spark.createDataFrame(table.combine_chunks())
