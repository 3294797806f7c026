# SPDX-License-Identifier: Apache-2.0
"""Running frames: the only module of `checks` that triggers Spark.

Everything else builds frames and is handed a `Jobs`, so that what a run costs can be seen here.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from scrub.spark.collecting import collect_arrow, translated


class Jobs:
    """Each method is one action; errors come as PySparkException."""

    def rows(self, frame: DataFrame) -> list[Row]:
        """All rows of a frame that is known to have few."""
        with translated():
            return frame.collect()

    def each(self, frame: DataFrame) -> Iterator[Row]:
        """The rows of a frame that may have more than the driver can hold."""
        with translated():
            yield from frame.toLocalIterator()

    def arrow(self, frame: DataFrame) -> pa.Table:
        """All rows of a frame that is known to have few, as Arrow."""
        with translated():
            return collect_arrow(frame)

    def number(self, frame: DataFrame) -> int:
        """How many rows a frame has."""
        with translated():
            return frame.count()

    def is_empty(self, frame: DataFrame) -> bool:
        """Whether a frame has no row."""
        with translated():
            return frame.isEmpty()

    def computed(self, frame: DataFrame) -> DataFrame:
        """The frame, computed now and held by the executors."""
        with translated():
            return frame.localCheckpoint()
