# SPDX-License-Identifier: Apache-2.0
"""Reading a format's files through Spark so that no value is guessed, rounded or dropped."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column
from scrub.model.types import ColumnType
from scrub.stores.base import SessionProvider
from scrub.stores.parquet_frame import parquet_frame, whole_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def columns(
    session: SessionProvider,
    format_: str,
    splits: Sequence[Split],
    options: Mapping[str, str],
    expected: Sequence[Column],
) -> dict[str, ColumnType | None]:
    raise NotImplementedError


def frame(
    spark: "SparkSession",
    format_: str,
    root: str,
    facts: RelationFacts,
    wanted: Sequence[Column],
    splits: Sequence[Split],
    options: Mapping[str, str],
) -> "DataFrame":
    files = whole_files(facts, splits)
    if format_ == "parquet":
        return parquet_frame(spark, root, files, wanted)
    raise NotImplementedError
