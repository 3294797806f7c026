# SPDX-License-Identifier: Apache-2.0
"""Running Python work in Spark tasks: numbers go out, Arrow batches come back.

The only thing a task is given is its number; what to do for that number travels in the function.
No RDD is involved, so the same code runs in the driver's JVM, on a cluster and over Spark Connect.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from scrub.pacing import Pace, current, keeping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Given = TypeVar("Given")
TaskFunction = Callable[[int], Iterator[pa.RecordBatch]]


def run_in_tasks(
    spark: "SparkSession",
    tasks: int,
    work: TaskFunction,
    schema: "StructType | str",
    *,
    alone: bool = False,
) -> "DataFrame":
    """A frame of what `work` yields for 0, 1, ... tasks-1, each in a task of its own.

    If the pace is limited, there are no more tasks than run at once, and each keeps to its share,
    for none knows of the others; if nothing else is read by the same job, the frame is `alone`.
    """
    limits, partitions = None, tasks
    if pace := current():
        from scrub.spark.session import parallelism

        at_once = parallelism(spark)
        partitions = max(1, min(tasks, at_once))
        limits = pace.limits.divided(partitions if alone else at_once)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with keeping(Pace(limits) if limits else None):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from work(number)
        spare_modules_from_collection()

    return spark.range(0, tasks, 1, partitions).mapInArrow(run, schema)


def run_each(
    spark: "SparkSession",
    tasks: Sequence[Given],
    work: Callable[[Given], Iterator[pa.RecordBatch]],
    schema: "StructType | str",
    *,
    alone: bool = False,
) -> "DataFrame":
    """The same of what `work` yields for what each task is given."""
    return run_in_tasks(spark, len(tasks), lambda number: work(tasks[number]), schema, alone=alone)


@cache
def spare_modules_from_collection() -> None:
    """Tell the garbage collector, once a worker, to pass over everything that is loaded by now.

    A worker collects garbage after each task, which looks at all objects of all modules: a tenth
    of a second a task with the libraries we use, for nothing.
    """
    gc.collect()
    gc.freeze()
