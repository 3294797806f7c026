# SPDX-License-Identifier: Apache-2.0
"""A Spark DataFrame of exactly the files that some splits name, in the catalog's types.

Works over Spark Connect: nothing here touches the JVM directly.
"""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.spark.strict_cast import strict_cast, utc_text
from scrub.spark.types import to_struct
from scrub.stores.locations import for_spark
from scrub.stores.native_scan import UnreadableSplit
from scrub.stores.partition_values import path_partition

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

GROUPS_MAX = 256
_STRING = ColumnType(TypeName.STRING)
_GLOB_CHARACTER = re.compile(r"([\[\]{}*?\\])")
# Spark decodes %C3%A9 to two characters, other writers mean one by it.
_ESCAPED_BEYOND_ASCII = re.compile(r"%[89a-fA-F][0-9a-fA-F]")


def whole_files(facts: RelationFacts, splits: Sequence[Split]) -> list[Split]:
    """One split for each file; Spark reads whole files, so all splits of a file must be wanted."""
    wanted = {(split.uri, split.row_groups) for split in splits}
    uris = {split.uri for split in splits}
    for split in facts.splits:
        if split.uri in uris and (split.uri, split.row_groups) not in wanted:
            raise ValueError(f"only some row groups of {split.uri} were asked for")
    return list({split.uri: split for split in splits}.values())


def parquet_frame(
    spark: "SparkSession", root: str, files: Sequence[Split], columns: Sequence[Column]
) -> "DataFrame":
    """Read the columns of the files, partition values included."""
    from scrub.spark.names import named

    if not files:
        return spark.createDataFrame([], to_struct(columns))
    in_path = {name for file in files for name in file.partition}
    partitions = [column for column in columns if column.name in in_path]
    if partitions and not _paths_tell(root, files, partitions):
        return _union_of_groups(spark, files, columns, partitions)
    # As text, which is what the path holds: Spark would guess that "01" is a number.
    schema = [
        Column(name=column.name, type=_STRING) if column in partitions else column
        for column in columns
    ]
    layout = {"basePath": for_spark(root)} if partitions else {"recursiveFileLookup": "true"}
    frame = read_files(spark.read.schema(to_struct(schema)).options(**layout), "parquet", files)
    texts = {column.name: named(column.name) for column in partitions}
    return frame.select(*[_value(column, texts) for column in columns])


def read_files(reader: "DataFrameReader", format_: str, files: Sequence[Split]) -> "DataFrame":
    """Load exactly these files; Spark's session must not skip what is gone or damaged."""
    from pyspark.errors import AnalysisException

    paths = {_hadoop_path(file.uri): file for file in files}
    if hidden := [file.uri for file in files if _is_hidden(file.uri)]:
        raise RelationMismatch(
            f"Spark does not read files whose names start with _ or . such as {hidden[0]}"
        )
    strict = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    try:
        return strict.format(format_).load(list(paths))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (error.getMessageParameters() or {}).get("path", "")
        file = next((paths[p] for p in paths if _same_path(p, missing)), files[0])
        raise UnreadableSplit(file.uri, "the file is gone") from error


def _hadoop_path(uri: str) -> str:
    # Not `__globPaths__=false`: with a glob character in several paths Spark 4 then reads each of
    # the files as often as there are paths.
    return _GLOB_CHARACTER.sub(r"\\\1", for_spark(uri))


def _same_path(one: str, other: str) -> bool:
    return re.sub("^file:/+", "/", one) == re.sub("^file:/+", "/", other)


def _is_hidden(uri: str) -> bool:
    name = uri.rpartition("/")[2]
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _paths_tell(root: str, files: Sequence[Split], partitions: Sequence[Column]) -> bool:
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
    spark: "SparkSession",
    files: Sequence[Split],
    columns: Sequence[Column],
    partitions: Sequence[Column],
) -> "DataFrame":
    """One read for each combination of partition values, which become literals."""
    from pyspark.sql import functions as sf

    groups: dict[tuple[str | None, ...], list[Split]] = {}
    for file in files:
        groups.setdefault(tuple(file.partition.get(c.name) for c in partitions), []).append(file)
    if len(groups) > GROUPS_MAX:
        raise RelationMismatch(
            f"{len(groups)} partitions whose paths do not spell their values: "
            f"the sql engine reads at most {GROUPS_MAX}",
            hint="use --engine native",
        )
    stored = [column for column in columns if column not in partitions]
    reader = spark.read.schema(to_struct(stored)).option("recursiveFileLookup", "true")
    frames = []
    for values, members in groups.items():
        texts = {
            column.name: sf.lit(value).cast("string")
            for column, value in zip(partitions, values, strict=True)
        }
        frame = read_files(reader, "parquet", members)
        frames.append(frame.select(*[_value(column, texts) for column in columns]))
    return reduce(lambda one, other: one.unionAll(other), frames)
