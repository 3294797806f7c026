# SPDX-License-Identifier: Apache-2.0
"""Passes an exact list of files to Spark: no globbing, and no file skipped silently."""

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch, StoreUnavailable, first_line
from scrub.model.relation import RelationFacts, Split
from scrub.stores.files.data_files import is_hidden
from scrub.stores.locations import for_spark, is_local
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader
    from pyspark.sql.types import StructType

_GLOB_CHARACTER = re.compile(r"([\[\]{}*?\\])")
_MAY_BE_EMPTY = ("csv", "json")


def whole_files(facts: RelationFacts, splits: Sequence[Split]) -> list[Split]:
    """One split for each file; Spark reads whole files, so all splits of a file must be wanted."""
    wanted = {(split.uri, split.row_groups) for split in splits}
    uris = {split.uri for split in splits}
    for split in facts.splits:
        if split.uri in uris and (split.uri, split.row_groups) not in wanted:
            raise ValueError(f"only some row groups of {split.uri} were asked for")
    return list({split.uri: split for split in splits}.values())


def load_files(reader: "DataFrameReader", format_: str, files: Sequence[Split]) -> "DataFrame":
    """The files as a frame. Raises UnreadableSplit for a file that Spark would skip silently."""
    from pyspark.errors import AnalysisException

    for file in files:
        _demand_whole(file, format_)
    paths = {_hadoop_path(file.uri): file for file in files}
    # The session may be told to skip such files, which here would look like missing rows.
    strict = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    try:
        frame = strict.format(format_).load(list(paths))
        _ = frame.schema  # over Spark Connect, nothing was looked at before
        return frame
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (error.getMessageParameters() or {}).get("path", "")
        file = next((paths[p] for p in paths if _same_path(p, missing)), files[0])
        raise UnreadableSplit(file.uri, "the file is gone") from error


def inferred_schema(
    reader: "DataFrameReader", format_: str, files: Sequence[Split]
) -> "StructType":
    """The common schema of the files that can be read."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    paths = [_hadoop_path(file.uri) for file in files if file.bytes]
    if not paths:
        return StructType()
    lenient = reader.options(
        ignoreMissingFiles="true", ignoreCorruptFiles="true", recursiveFileLookup="true"
    )
    try:
        return lenient.format(format_).load(paths).schema
    except PySparkException as error:
        raise StoreUnavailable(
            f"no schema for {format_} file {files[0].uri}: {first_line(error)}"
        ) from error


def _demand_whole(file: Split, format_: str) -> None:
    if is_hidden(file.uri.rpartition("/")[2]):
        raise RelationMismatch(f"Spark does not read files whose names start so: {file.uri}")
    size = file.bytes
    if is_local(file.uri) and file.row_groups is None:
        try:
            size = os.stat(file.uri).st_size
        except FileNotFoundError as error:
            raise UnreadableSplit(file.uri, "the file is gone") from error
        except OSError:
            pass  # Spark will say what is the matter
    if size != file.bytes:
        raise UnreadableSplit(
            file.uri, f"the file has {size} bytes, but had {file.bytes} in the snapshot"
        )
    if size == 0 and format_ not in _MAY_BE_EMPTY:
        raise UnreadableSplit(file.uri, f"the file is empty, which no {format_} file is")


def _hadoop_path(uri: str) -> str:
    # Not `__globPaths__=false`: with a glob character in several paths Spark 4 then reads each of
    # the files as often as there are paths.
    return _GLOB_CHARACTER.sub(r"\\\1", for_spark(uri))


def _same_path(one: str, other: str) -> bool:
    return re.sub("^file:/+", "/", one) == re.sub("^file:/+", "/", other)
