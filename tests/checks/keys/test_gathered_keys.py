# SPDX-License-Identifier: Apache-2.0
"""The keys of a parent: each once, not more than may travel, and never called whole in part."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from checks.jobs import Jobs
from checks.keys.gathered_keys import GatheredKeys, gather_keys
from checks.keys.split_rows import SplitRows
from tests.checks.keys.ground import SALT, cut_off, key_of, splits_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = key_of(id="bigint", part="string")
ROWS = [(1, "a"), (2, "a"), (1, "a"), (1, "b"), (None, "b"), (3, None)]
DISTINCT = 3


def has_all(gathered: GatheredKeys) -> bool:
    assert gathered.held is not None
    batch = table_of(KEY, ROWS).combine_chunks().to_batches()[0]
    return not gathered.held.lacks(batch, KEY).any()


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_keys_are_gathered_once_each(spark: "SparkSession", tmp_path: Path, counted: bool) -> None:
    parent = splits_of(tmp_path / "parent", table_of(KEY, ROWS), counted=counted)
    gathered = gather_keys(spark, Jobs(), parent, KEY, SALT, keys_max=100)
    assert gathered.are_whole
    assert gathered.held is not None
    assert (len(gathered.held), gathered.rows) == (DISTINCT, len(ROWS))
    assert has_all(gathered)


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_too_many_keys_do_not_travel(spark: "SparkSession", tmp_path: Path, counted: bool) -> None:
    rows = [(number, "a") for number in range(100)]
    parent = splits_of(tmp_path / "parent", table_of(KEY, rows), counted=counted)
    gathered = gather_keys(spark, Jobs(), parent, KEY, SALT, keys_max=99)
    assert gathered.held is None
    assert not gathered.are_whole
    enough = gather_keys(spark, Jobs(), parent, KEY, SALT, keys_max=100)
    assert enough.held is not None
    assert len(enough.held) == 100


@pytest.mark.spark
@pytest.mark.parametrize("counted", [True, False], ids=["rows known", "rows unknown"])
def test_keys_are_not_whole_if_a_split_cannot_be_read(
    spark: "SparkSession", tmp_path: Path, counted: bool
) -> None:
    parent = splits_of(tmp_path / "parent", table_of(KEY, ROWS), counted=counted)
    cut_off(parent, 0)
    gathered = gather_keys(spark, Jobs(), parent, KEY, SALT, keys_max=100)
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
        gathered = gather_keys(spark, Jobs(), parent, KEY, SALT, keys_max=100)
        assert gathered.are_whole
        assert gathered.held is not None
        assert np.array_equal(gathered.held.pairs, np.empty((0, 2), dtype=np.uint64))
