# SPDX-License-Identifier: Apache-2.0
"""Running work and frames: the only module of `checks` that triggers Spark.

Everything else builds work and frames and is handed a `Jobs`, so that what a run costs can be seen
here. Work runs in this process if little is to be read, and then Spark does not even start unless
somebody asks for a frame.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from checks.in_process import InProcess
from checks.work import Work
from scrub.pacing import current

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


_ROWS_AT_ONCE = 10_000
HELD_MAX = 300_000
"""Rows that are compared one by one here: more take Spark no longer than they take this process."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Each method is one action; errors come as one of checks.failures.FAILURES."""

    session: "Callable[[], SparkSession]"  # starts Spark the first time
    in_process: InProcess | None = None  # None: work runs on Spark

    @property
    def spark(self) -> "SparkSession":
        """The session, to make frames in."""
        return self.session()

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as anybody knows."""
        if self.in_process is not None:
            return self.in_process.cores
        from scrub.spark.session import parallelism

        return parallelism(self.spark)

    def frame(self, job: "Work | DataFrame") -> "DataFrame":
        """What a job returns as a frame, for those who join it."""
        if not isinstance(job, Work):
            return job
        from checks.spark_work import as_frame

        return as_frame(self.spark, job)

    def _alone(self, job: "Work | DataFrame") -> "DataFrame":
        """The same for those who want nothing else at the same time."""
        if not isinstance(job, Work):
            return job
        from checks.spark_work import as_frame

        return as_frame(self.spark, job, alone=True)

    @contextmanager
    def _tasks_that_wait(self, job: "Work | DataFrame") -> Iterator[None]:
        """Tasks on this machine see a pause file, and its pauses are no part of the work."""
        pace = current()
        if pace is None or not isinstance(job, Work):
            yield
            return
        pace.tasks_wait = str(self.spark.conf.get("spark.master", "")).startswith("local")
        try:
            yield
        finally:
            pace.tasks_wait = False

    @contextmanager
    def watched(self, group: str, on_fraction: Callable[[float], None]) -> Iterator[None]:
        """Tell how much of the block's work is done, now and then."""
        if self.in_process is None:
            from scrub.spark.watching import watched

            with watched(self.spark, group, on_fraction):
                yield
            return
        self.in_process.on_fraction = on_fraction
        try:
            yield
        finally:
            self.in_process.on_fraction = None

    def rows(self, frame: "DataFrame") -> "list[Row]":
        """All rows of a frame that is known to have few."""
        with _action():
            return frame.collect()

    def each(self, frame: "DataFrame") -> "Iterator[Row]":
        """The rows of a frame that may have more than the driver can hold."""
        with _action():
            yield from frame.toLocalIterator()

    def few_or_each(self, job: "Work | DataFrame") -> Iterator[Mapping[str, Any]]:
        """The rows of a job one by one, of which there may be more than the driver can hold."""
        if isinstance(job, Work) and self.in_process is not None:
            for batch in self.in_process.table(job).to_batches(_ROWS_AT_ONCE):
                yield from batch.to_pylist()
            return
        for row in self.each(self._alone(job)):
            yield row.asDict()

    def arrow(self, job: "Work | DataFrame") -> pa.Table:
        """All rows of a job that is known to return few, as Arrow."""
        if isinstance(job, Work) and self.in_process is not None:
            return self.in_process.table(job)
        from scrub.spark.collecting import collect_arrow

        with _action(), self._tasks_that_wait(job):
            return collect_arrow(self._alone(job))

    def held(self, work: Work) -> pa.Table | None:
        """What tasks return, if they run in this process and it is little enough to stay here."""
        if self.in_process is None:
            return None
        found = self.in_process.table(work)
        return found if found.num_rows <= HELD_MAX else None

    def number(self, frame: "DataFrame") -> int:
        """How many rows a frame has."""
        with _action():
            return frame.count()

    def is_empty(self, frame: "DataFrame") -> bool:
        """Whether a frame has no row."""
        with _action():
            return frame.isEmpty()

    def computed(self, frame: "DataFrame") -> "DataFrame":
        """The frame, computed now and held by the executors."""
        with _action():
            return frame.localCheckpoint()


@contextmanager
def _action() -> Iterator[None]:
    """Around an action of Spark: not during a pause, and what Spark itself reads is paid for."""
    from scrub.spark.collecting import translated

    pace = current()
    with pace.paying() if pace else nullcontext(), translated():
        yield
