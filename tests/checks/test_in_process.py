# SPDX-License-Identifier: Apache-2.0
"""Tasks in threads of this process: what they return, their errors, and second tasks."""

import threading
from collections import Counter

import pyarrow as pa
import pytest

from checks.in_process import InProcess, TaskFailed
from checks.task_rows import as_batch
from checks.work import Batches, SecondTasks, Work
from scrub.stores.unreadable import UnreadableSplit

SCHEMA = "place int, number bigint"


def numbers_of(task: int) -> Batches:
    """A batch with rows of two places, and an empty one."""
    yield as_batch([(task % 3, task), (7, task)], SCHEMA)
    yield as_batch([], SCHEMA)


def summed(batches: Batches) -> Batches:
    rows = [row for batch in batches for row in batch.to_pylist()]
    places = {row["place"] for row in rows}
    assert len(places) == 1, "rows of several places in one second task"
    yield as_batch([(places.pop(), sum(row["number"] for row in rows))], SCHEMA)


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(cores: int) -> None:
    found = InProcess(cores).table(Work(given=range(20), task=numbers_of, schema=SCHEMA))
    assert found.column("number").to_pylist() == [n for n in range(20) for _ in range(2)]
    assert found.schema.field("place").type == pa.int32()


def test_without_tasks_there_is_a_table_without_rows() -> None:
    found = InProcess(2).table(Work(given=(), task=numbers_of, schema=SCHEMA))
    assert (found.num_rows, found.schema.names) == (0, ["place", "number"])


@pytest.mark.parametrize("cores", [1, 3])
def test_second_tasks_see_all_rows_of_a_place(cores: int) -> None:
    second = SecondTasks(place=("place",), partitions=4, task=summed, schema=SCHEMA)
    work = Work(given=range(9), task=numbers_of, schema=SCHEMA, second=second)
    found = InProcess(cores).table(work).to_pylist()
    assert {row["place"]: row["number"] for row in found} == {0: 9, 1: 12, 2: 15, 7: 36}


@pytest.mark.parametrize("cores", [1, 2])
def test_a_task_that_raises_ends_the_work_with_its_error(cores: int) -> None:
    def fails(task: int) -> Batches:
        if task == 3:
            raise ZeroDivisionError("three")
        yield from numbers_of(task)

    with pytest.raises(TaskFailed, match="ZeroDivisionError: three") as failed:
        InProcess(cores).table(Work(given=range(50), task=fails, schema=SCHEMA))
    assert failed.value.kind == "ZeroDivisionError"


def test_a_split_that_cannot_be_read_is_named_by_its_own_error() -> None:
    def unreadable(task: int) -> Batches:
        raise UnreadableSplit(f"file {task}", "it is gone")
        yield

    with pytest.raises(UnreadableSplit, match="file 0"):
        InProcess(1).table(Work(given=range(3), task=unreadable, schema=SCHEMA))


def test_after_an_error_the_others_end_at_their_next_batch() -> None:
    began, started = threading.Event(), Counter[int]()

    def endless(task: int) -> Batches:
        if task == 0:
            began.wait(30)
            raise ValueError("over")
        while True:
            started[task] += 1
            began.set()
            yield as_batch([], SCHEMA)

    with pytest.raises(TaskFailed, match="over"):
        InProcess(2).table(Work(given=range(40), task=endless, schema=SCHEMA))
    assert set(started) == {1}, "tasks were started after the work had failed"
    for thread in threading.enumerate():
        if thread.name.startswith("scrub-task"):
            thread.join(30)
            assert not thread.is_alive()


def test_progress_grows_to_all_of_it() -> None:
    heard: list[float] = []
    runner = InProcess(2, heard.append)
    runner.table(Work(given=range(10), task=numbers_of, schema=SCHEMA))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
