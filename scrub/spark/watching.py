# SPDX-License-Identifier: Apache-2.0
"""Watching and stopping our own jobs inside a session that may be somebody else's."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from scrub.spark.session import is_connect, suppress_end

_POLL_SECONDS = 0.5


@contextmanager
def stoppable(spark: SparkSession, run_id: str) -> Iterator[None]:
    """Jobs started in the block carry a tag, and are stopped when the block is left by Ctrl-C."""
    spark.addTag(run_id)
    try:
        yield
    except KeyboardInterrupt:
        with suppress_end():
            spark.interruptTag(run_id)
        raise
    finally:
        with suppress_end():
            spark.removeTag(run_id)


@contextmanager
def watched(
    spark: SparkSession, group: str, on_fraction: Callable[[float], None]
) -> Iterator[None]:
    """Tell how much of the block's jobs is done, now and then; not over Spark Connect."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty("spark.jobGroup.id")
    context.setJobGroup(group, "scrub")
    done = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(spark, group, on_fraction, done), name="scrub-progress", daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        with suppress_end():
            context.setLocalProperty("spark.jobGroup.id", before)  # type: ignore[arg-type]


def _watch(
    spark: SparkSession, group: str, on_fraction: Callable[[float], None], done: threading.Event
) -> None:
    with suppress_end():
        tracker = spark.sparkContext.statusTracker()
        while not done.wait(_POLL_SECONDS):
            tasks = finished = 0
            for job in tracker.getJobIdsForGroup(group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    if stage_info := tracker.getStageInfo(stage):
                        tasks += stage_info.numTasks
                        finished += stage_info.numCompletedTasks
            if tasks:
                on_fraction(finished / tasks)
