# SPDX-License-Identifier: Apache-2.0
"""A Spark DataFrame of files together with the partition values that their paths or log hold.

Spark finds values in paths by itself, but only in its own spelling, and Delta promises no such
paths. So the paths are used when every one of them spells exactly the values that the splits hold;
otherwise the values become literals, one read for each combination of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import Split, Splits
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.spark.strict_cast import strict_cast, utc_text
from scrub.spark.types import to_struct
from scrub.stores.files.partition_values import path_partition
from scrub.stores.locations import for_spark

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

GROUPS_MAX = 256
# Spark decodes %C3%A9 to two characters, other writers mean one by it.
_ESCAPED_BEYOND_ASCII = re.compile(r"%[89a-fA-F][0-9a-fA-F]")


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, and what to read from them."""

    splits: Splits
    stored: Sequence[Column]
    in_paths: Sequence[Column]  # partition columns, as the text that the paths hold
    layout: Mapping[str, str]  # options of Spark's reader: how it looks at paths


Load = Callable[[Files], "DataFrame"]


def partitioned_frame(
    spark: "SparkSession", root: str, files: Splits, columns: Sequence[Column], load: Load
) -> "DataFrame":
    """The columns in order; `load` reads the stored ones, in the catalog's types."""
    from scrub.spark.names import named

    if not files:
        return spark.createDataFrame([], to_struct(columns))
    in_path = {name for file in files for name in file.partition}
    partitions = [column for column in columns if column.name in in_path]
    stored = [column for column in columns if column.name not in in_path]
    if partitions and not _paths_tell(root, files, partitions):
        return _union_of_groups(files, columns, partitions, load)
    # As text, which is what a path holds: Spark would guess that "01" is a number.
    texts = [Column(name=c.name, type=ColumnType(TypeName.STRING)) for c in partitions]
    layout = {"basePath": for_spark(root)} if partitions else {"recursiveFileLookup": "true"}
    frame = load(Files(files, stored, texts, layout))
    found = {column.name: named(column.name) for column in partitions}
    return frame.select(*[_value(column, found) for column in columns])


def _paths_tell(root: str, files: Splits, partitions: Sequence[Column]) -> bool:
    """Whether Spark finds in every path exactly the values that the split holds."""
    for file in files:
        if not file.uri.startswith(f"{root}/") or _ESCAPED_BEYOND_ASCII.search(file.uri):
            return False
        told = path_partition(file.uri[len(root) + 1 :])
        if told != dict(file.partition) or "" in told.values():
            return False
    return all(column.name in file.partition for file in files for column in partitions)


def _value(column: Column, texts: Mapping[str, "SparkColumn"]) -> "SparkColumn":
    from scrub.spark.names import named

    text = texts.get(column.name)
    if text is None:
        return named(column.name)
    if column.type.name is TypeName.TIMESTAMP:
        text = utc_text(text)
    return strict_cast(text, column.type, column.name).alias(column.name)


def _union_of_groups(
    files: Splits, columns: Sequence[Column], partitions: Sequence[Column], load: Load
) -> "DataFrame":
    from pyspark.sql import functions as sf

    groups: dict[tuple[str | None, ...], list[Split]] = {}
    for file in files:
        groups.setdefault(tuple(file.partition.get(c.name) for c in partitions), []).append(file)
    if len(groups) > GROUPS_MAX:
        raise RelationMismatch(
            f"{len(groups)} partitions whose paths do not spell their values as Spark does; "
            f"through Spark at most {GROUPS_MAX} can be read",
            hint="--engine native reads any number, of Parquet files",
        )
    stored = [column for column in columns if column not in partitions]
    frames = []
    for values, members in groups.items():
        texts = {
            column.name: sf.lit(value).cast("string")
            for column, value in zip(partitions, values, strict=True)
        }
        frame = load(Files(members, stored, (), {"recursiveFileLookup": "true"}))
        frames.append(frame.select(*[_value(column, texts) for column in columns]))
    return reduce(lambda one, other: one.unionAll(other), frames)
