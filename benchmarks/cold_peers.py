# SPDX-License-Identifier: Apache-2.0
"""What commands are compared with: whole processes, too.

`python -m benchmarks.cold_peers spark`, or `... duckdb-by_customer DATA ROWS`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.answers import demand
from benchmarks.data import DEFECTS, Lake
from benchmarks.shapes import BY_CUSTOMER, BY_CUSTOMER_DAMAGED, IndexShape

BOTH = (BY_CUSTOMER, BY_CUSTOMER_DAMAGED)


def bare_spark() -> None:
    """Start a session and run one Python task, with nothing of ours."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.range(0, 1, 1, 1).mapInArrow(lambda batches: batches, "id bigint")
    demand("rows of a task", len(frame.collect()), 1)
    spark.stop()


def join_as_a_script(index: IndexShape, lake: Lake) -> None:
    """DuckDB's full outer join, and how many differences it found."""
    from benchmarks.duckdb_peers import duckdb_join

    demand("differences", duckdb_join(lake, index), DEFECTS if index == BY_CUSTOMER_DAMAGED else 0)


def main(arguments: Sequence[str]) -> None:
    """Be the peer that is named."""
    name, *of_lake = arguments
    if name == "spark":
        bare_spark()
        return
    directory, rows = of_lake
    indexes = {f"duckdb-{index.name}": index for index in BOTH}
    join_as_a_script(indexes[name], Lake.under(Path(directory), int(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
