# SPDX-License-Identifier: Apache-2.0
"""The keys of a parent: each once, not more than may travel, and never called whole in part."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from checks.jobs import Jobs
from checks.keys.gathered_keys import GatheredKeys, ParentRows, gather_keys
from checks.keys.split_rows import SplitRows
from checks.work import Work
from tests.checks.keys.ground import SALT, cut_off, key_of, splits_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = key_of(id="bigint", part="string")
ROWS = [(1, "a"), (2, "a"), (1, "a"), (1, "b"), (None, "b"), (3, None)]
DISTINCT = 3


def has_all(gathered: GatheredKeys) -> bool:
    assert gathered.held is not None
    batch = table_of(KEY, ROWS).combine_chunks().to_batches()[0]
    return not gathered.held.lacks(batch, KEY).any()


def gathered_alone(spark: "SparkSession", parent: SplitRows, keys_max: int) -> GatheredKeys:
    (gathered,) = gather_keys(Jobs(lambda: spark), [ParentRows(parent, KEY)], SALT, keys_max)
    return gathered


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_the_keys_of_all_rows_are_gathered(
    spark: "SparkSession", tmp_path: Path, counted: bool
) -> None:
    parent = splits_of(tmp_path / "parent", table_of(KEY, ROWS), counted=counted)
    gathered = gathered_alone(spark, parent, keys_max=100)
    assert gathered.are_whole
    assert gathered.held is not None
    assert len(gathered.held) >= DISTINCT
    assert gathered.rows == len(ROWS)
    assert has_all(gathered)


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_too_many_keys_do_not_travel(spark: "SparkSession", tmp_path: Path, counted: bool) -> None:
    rows = [(number, "a") for number in range(100)]
    parent = splits_of(tmp_path / "parent", table_of(KEY, rows), counted=counted)
    gathered = gathered_alone(spark, parent, keys_max=99)
    assert gathered.held is None
    assert not gathered.are_whole
    enough = gathered_alone(spark, parent, keys_max=100)
    assert enough.held is not None
    assert len(enough.held) == 100


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_keys_are_not_whole_if_a_split_cannot_be_read(
    spark: "SparkSession", tmp_path: Path, counted: bool
) -> None:
    parent = splits_of(tmp_path / "parent", table_of(KEY, ROWS), counted=counted)
    cut_off(parent, 0)
    gathered = gathered_alone(spark, parent, keys_max=100)
    assert [split.number for split in gathered.unread] == [0]
    assert not gathered.are_whole
    assert gathered.rows == 3


@pytest.mark.spark
def test_a_parent_without_rows_has_no_keys(spark: "SparkSession", tmp_path: Path) -> None:
    for parent in (
        SplitRows(splits=()),
        splits_of(tmp_path / "known", table_of(KEY, [])),
        splits_of(tmp_path / "unknown", table_of(KEY, []), counted=False),
    ):
        gathered = gathered_alone(spark, parent, keys_max=100)
        assert gathered.are_whole
        assert gathered.held is not None
        assert np.array_equal(gathered.held.digests, np.empty((0, 2), dtype=np.uint64))


@pytest.mark.spark
def test_several_parents_are_read_in_one_job(spark: "SparkSession", tmp_path: Path) -> None:
    """Each with its own keys, whether one digest tells them apart or both are needed."""
    word, text = key_of(id="bigint"), key_of(name="string")
    parents = [
        ParentRows(splits_of(tmp_path / "words", table_of(word, [(1,), (2,), (None,)])), word),
        ParentRows(splits_of(tmp_path / "texts", table_of(text, [("a",), ("b",)])), text),
        ParentRows(SplitRows(splits=()), word),
        ParentRows(splits_of(tmp_path / "many", table_of(word, [(n,) for n in range(9)])), word),
    ]
    jobs = CountedJobs(lambda: spark)
    words, texts, nothing, many = gather_keys(jobs, parents, SALT, keys_max=8)
    assert jobs.number_of_jobs == 1
    assert many.held is None
    asked = table_of(word, [(1,), (2,), (3,), (None,)]).to_batches()[0]
    assert words.held is not None
    assert nothing.held is not None
    assert words.held.lacks(asked, word).tolist() == [False, False, True, False]
    assert nothing.held.lacks(asked, word).tolist() == [True, True, True, False]
    named = table_of(text, [("b",), ("c",)]).to_batches()[0]
    assert texts.held is not None
    assert texts.held.lacks(named, text).tolist() == [False, True]
    assert (words.held.digests.ndim, texts.held.digests.ndim) == (1, 2)


class CountedJobs(Jobs):
    number_of_jobs = 0

    def arrow(self, job: "Work | DataFrame") -> pa.Table:
        object.__setattr__(self, "number_of_jobs", self.number_of_jobs + 1)
        return super().arrow(job)
