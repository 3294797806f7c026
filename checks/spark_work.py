# SPDX-License-Identifier: Apache-2.0
"""Work as a frame of Spark: each task in a task of its own, second tasks after a shuffle."""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from checks.work import Batches, Work
from scrub.spark.tasks import run_each, spare_modules_from_collection
from scrub.spark.types import to_struct

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def as_frame(spark: SparkSession, work: Work, *, alone: bool = False) -> DataFrame:
    """What the tasks return; nothing runs before somebody wants it.

    It is `alone` if it is not joined with another frame that tasks read at the same time.
    """
    schema: StructType | str
    schema = work.schema if isinstance(work.schema, str) else to_struct(work.schema)
    if not work.given:
        frame = spark.createDataFrame([], schema)
    else:
        frame = run_each(spark, work.given, work.task, schema, alone=alone)
    second = work.second
    if second is None:
        return frame
    task = second.task

    def run(batches: Batches) -> Batches:
        yield from task(batches)
        spare_modules_from_collection()

    return frame.repartition(second.partitions, *second.place).mapInArrow(run, second.schema)
