# SPDX-License-Identifier: Apache-2.0
"""Tasks in threads of this process: for work that would be done before Spark has started.

What tasks do is decoding and compiled loops, which leave Python's lock to the others.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pyarrow as pa

from checks.work import Batches, SecondTasks, Work
from scrub.pacing import Unwanted, unwanted_when
from scrub.stores.unreadable import UnreadableSplit

OnFraction = Callable[[float], None]
"""Is told how much of some work is done."""


class TaskFailed(Exception):
    """A task ended with an error that nobody expected: the work has no result."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.kind = type(error).__name__


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(slots=True)
class InProcess:
    """Runs work in as many threads as there are cores."""

    cores: int = field(default_factory=available_cores)
    on_fraction: OnFraction | None = None  # set while somebody wants to know

    def table(self, work: Work) -> pa.Table:
        """Everything that the tasks return."""
        batches = self._run(work.task, work.given)
        if work.second is not None:
            places = _by_place(batches, work.second)
            batches = self._run(lambda rows: work.second.task(iter(rows)), places)  # type: ignore[union-attr]
        schema = work.arrow_schema
        return pa.Table.from_batches([_as(schema, batch) for batch in batches], schema)

    def _run(self, task: Callable[[Any], Batches], given: Sequence[Any]) -> list[pa.RecordBatch]:
        """What each task returns, in the order of the tasks."""
        if len(given) <= 1 or self.cores == 1:
            return [batch for of_task in given for batch in _attempted(task, of_task)]
        stopping = Event()
        with ThreadPoolExecutor(self.cores, thread_name_prefix="scrub-task") as pool:
            # Each thread keeps to the limits of the one that waits for it.
            futures = [
                pool.submit(copy_context().run, _attempted, task, of_task, stopping)
                for of_task in given
            ]
            try:
                self._wait(futures)
            except BaseException:
                # None is begun any more, and those that run end at the next batch that they read.
                stopping.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [batch for future in futures for batch in future.result()]

    def _wait(self, futures: Iterable[Future[list[pa.RecordBatch]]]) -> None:
        """Until all are done; the first that fails ends the others."""
        waiting = set(futures)
        total = len(waiting)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            if self.on_fraction is not None:
                self.on_fraction((total - len(waiting)) / total)


def _attempted(
    task: Callable[[Any], Batches], given: Any, stopping: Event | None = None
) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = []
    if stopping is not None:
        if stopping.is_set():
            return found
        unwanted_when(stopping)
    try:
        for batch in task(given):
            found.append(batch)
            if stopping is not None and stopping.is_set():
                break
    except Unwanted:
        pass  # whoever set it has a reason to tell
    except BaseException as error:
        if stopping is not None:
            stopping.set()
        if isinstance(error, UnreadableSplit) or not isinstance(error, Exception):
            raise
        raise TaskFailed(error) from error
    return found


def _by_place(batches: Iterable[pa.RecordBatch], second: SecondTasks) -> list[list[pa.RecordBatch]]:
    """The rows of each place; a task returns them place by place, so that batches are whole."""
    places: dict[tuple[object, ...], list[pa.RecordBatch]] = defaultdict(list)
    for batch in batches:
        for place, rows in _divided(batch, second.place):
            places[place].append(rows)
    return list(places.values())


def _divided(
    batch: pa.RecordBatch, names: Sequence[str]
) -> Iterator[tuple[tuple[object, ...], pa.RecordBatch]]:
    columns = [batch.column(name).to_pylist() for name in names]
    rows_of: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row, place in enumerate(zip(*columns, strict=True)):
        rows_of[place].append(row)
    if len(rows_of) == 1:
        yield next(iter(rows_of)), batch
        return
    for place, rows in rows_of.items():
        yield place, batch.take(pa.array(rows))


def _as(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in exactly these types: tasks may leave out what Spark does not ask about."""
    if batch.schema.equals(schema):
        return batch
    arrays = [
        array if array.type == of.type else array.cast(of.type)
        for array, of in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
