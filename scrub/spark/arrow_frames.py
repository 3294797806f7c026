# SPDX-License-Identifier: Apache-2.0
"""Arrow tables as frames, with all their rows."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """A frame of the table's rows.

    PySpark 4 loses rows of a table that has empty chunks, as filtered and concatenated ones do.
    Over Spark Connect, it takes the columns of a table without rows from a schema only.
    """
    if not table.num_rows:
        from pyspark.sql.pandas.types import from_arrow_schema

        # As PySpark itself does for a table that has rows.
        without_zone = spark.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=without_zone)
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(table.combine_chunks())
