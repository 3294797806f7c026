# SPDX-License-Identifier: Apache-2.0
"""Data files of a Delta table: writing new ones, and old ones again without some of their rows.

Nothing here is visible to readers before a commit names the files.
"""

import json
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.stores import parquet_columns
from scrub.stores.delta_snapshot import DeltaSnapshot, SnapshotFile
from scrub.stores.key_bounds import Numbers
from scrub.stores.locations import join, open_file, open_filesystem
from scrub.stores.native_scan import describe
from scrub.stores.partition_values import partition_text

ROW_GROUP_ROWS = 65_536
_LEFT_AS_THEY_ARE = "!$&'()+,-./:;=@_~"
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}  # bytes; texts have none
_DICTIONARY_SHARE = 0.75
_TRIAL_ROWS_MIN = 1_000
_COMPRESSION = "snappy"
_ARROW_SCHEMA = b"ARROW:schema"
_GAPS_MAX = 1_000  # in a batch, of rows that are left out
_TEXT_BOUND_MAX = 32  # characters; longer ones are left out, as other writers cut them off


class NewFiles:
    """Files written for one commit; those of a commit that failed are removed again."""

    def __init__(self, snapshot: DeltaSnapshot) -> None:
        self._snapshot = snapshot
        self._written: list[str] = []
        self.adds: list[Any] = []

    def write(self, entries: pa.Table) -> None:
        """Entries as new files: one, or one for each partition."""
        for partition, rows in _by_partition(entries, self._snapshot.partition_columns):
            fitted = _fitted(rows, self._snapshot)
            self._write([fitted], fitted.schema, partition)

    def write_again(self, file: SnapshotFile, without: Sequence[int]) -> None:
        """A file's rows except those at some places; nothing if no other is left."""
        try:
            with open_file(file.uri, self._snapshot.options) as opened:
                metadata = pq.read_metadata(opened)
                if metadata.num_rows == len(set(without)):
                    return
                parquet = pq.ParquetFile(
                    opened,
                    metadata=metadata,
                    # Few distinct texts come and go as codes.
                    read_dictionary=parquet_columns.dictionary_columns(metadata),
                    coerce_int96_timestamp_unit="us",
                )
                kept = _kept(parquet, np.unique(np.array(without, np.int64)))
                first = next(kept, None)
                if first is None:
                    raise OSError("it holds fewer rows than its footer says")
                columns = _dictionary_columns(metadata, first)
                batches, schema = chain([first], kept), parquet.schema_arrow
                self._write(batches, schema, file.partition, columns, metadata.metadata)
        except (OSError, pa.ArrowException) as error:
            reason = describe(error)
            raise StoreUnavailable(f"{self._snapshot.relation}: {file.uri}: {reason}") from error

    def discard(self) -> None:
        """Remove what no commit names; a file that stays is only waste, until a vacuum."""
        for uri in self._written:
            filesystem, path = open_filesystem(uri, self._snapshot.options)
            try:
                filesystem.delete_file(path)
            except OSError:
                continue

    def _write(
        self,
        batches: Iterable[pa.Table],
        schema: pa.Schema,
        partition: Mapping[str, str | None],
        dictionary: Sequence[str] | None = None,
        marks: Mapping[bytes, bytes] | None = None,
    ) -> None:
        name = f"part-{uuid.uuid4().hex}.parquet"
        uri = join(self._snapshot.uri, name)
        filesystem, path = open_filesystem(uri, self._snapshot.options)
        self._written.append(uri)
        with (
            filesystem.open_output_stream(path) as stream,
            pq.ParquetWriter(
                stream,
                schema,
                compression=_COMPRESSION,
                use_dictionary=True if dictionary is None else (list(dictionary) or False),
                store_schema=False,  # a text is a text, however it came here
                write_batch_size=ROW_GROUP_ROWS,  # codes of texts are counted once for each batch
            ) as writer,
        ):
            # What its writer has noted, as Spark does the calendar of dates, is true of the copy.
            kept = {k: v for k, v in (marks or {}).items() if k != _ARROW_SCHEMA}
            writer.add_key_value_metadata(kept)
            for batch in batches:
                writer.write_table(batch, row_group_size=ROW_GROUP_ROWS)
        size = filesystem.get_file_info(path).size
        metadata = pq.read_metadata(path, filesystem=filesystem)
        self.adds.append(add_action(name, size, partition, metadata))


def add_action(path: str, size: int, partition: Mapping[str, str | None], metadata: Any) -> Any:
    """What the log says of a file that was written."""
    from deltalake.transaction import AddAction

    now = int(time.time() * 1000)
    return AddAction(path, size, partition, now, True, statistics(metadata))


def remove_action(file: SnapshotFile) -> Any:
    """What the log says of a file that is a part of the table no more.

    delta-rs encodes the path that it is given. The log must then hold the very spelling of the
    commit that added the file, or the file would stay.
    """
    from deltalake.transaction import RemoveAction

    path = unquote(file.path)
    if quote(path, safe=_LEFT_AS_THEY_ARE) != file.path:
        raise RelationMismatch(
            f"{file.uri} cannot be removed from its table: the log spells its name in another way "
            "than delta-rs does",
            hint="rewrite the table with delta-rs, or build the index anew",
        )
    now = int(time.time() * 1000)
    return RemoveAction(path, True, now, file.bytes, dict(file.partition))


def statistics(metadata: Any) -> str:
    """Rows and bounds of a Parquet file, as the log wants them."""
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for leaf in range(metadata.num_columns):
        name = metadata.schema.column(leaf).path
        groups = [metadata.row_group(n).column(leaf) for n in range(metadata.num_row_groups)]
        found = [group.statistics for group in groups]
        if not found or any(s is None or not s.has_null_count for s in found):
            continue
        nulls[name] = sum(s.null_count for s in found)
        # A row group of NULLs only has no bounds, and needs none.
        valued = [s for s in found if s.num_values]
        if valued and all(s.has_min_max and _is_bound(s.min, s.max) for s in valued):
            lowest[name] = min(s.min for s in valued)
            highest[name] = max(s.max for s in valued)
    return json.dumps(
        {
            "numRecords": metadata.num_rows,
            "minValues": lowest,
            "maxValues": highest,
            "nullCount": nulls,
        }
    )


def _is_bound(lowest: Any, highest: Any) -> bool:
    """Whether every reader of the log orders such values alike."""
    if isinstance(lowest, bool):
        return False
    if isinstance(lowest, str):
        return max(len(lowest), len(highest)) <= _TEXT_BOUND_MAX
    return isinstance(lowest, int)


def _dictionary_columns(metadata: Any, first: pa.Table) -> list[str]:
    """The columns that are smaller with a dictionary; looking for one takes most of the time.

    Numbers that come in runs, as in the key of an index, may be as small without: that is tried.
    """
    group = metadata.row_group(0)
    chunks = [group.column(leaf) for leaf in range(metadata.num_columns)]
    worthy = {
        chunk.path_in_schema: chunk.physical_type
        for chunk in chunks
        if chunk.total_uncompressed_size
        < _DICTIONARY_SHARE * chunk.num_values * _WIDTHS.get(chunk.physical_type, math.inf)
    }
    if first.num_rows < _TRIAL_ROWS_MIN:
        return list(worthy)
    numbers = [n for n, kind in worthy.items() if kind in _WIDTHS and n in first.column_names]
    with_one = _sizes(first.select(numbers), use_dictionary=True)
    without = _sizes(first.select(numbers), use_dictionary=False)
    return [name for name in worthy if name not in without or with_one[name] < without[name]]


def _sizes(rows: pa.Table, use_dictionary: bool) -> dict[str, int]:
    """How large the columns of some rows are in a file."""
    if not rows.num_columns:
        return {}
    stream = pa.BufferOutputStream()
    pq.write_table(rows, stream, compression=_COMPRESSION, use_dictionary=use_dictionary)
    group = pq.read_metadata(pa.BufferReader(stream.getvalue())).row_group(0)
    chunks = [group.column(leaf) for leaf in range(group.num_columns)]
    return {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}


def _kept(parquet: Any, without: Numbers) -> Iterator[pa.Table]:
    first = 0
    # Files are written several at a time; more threads for each would be in the way of the others.
    for batch in parquet.iter_batches(ROW_GROUP_ROWS, use_threads=False):
        start, end = np.searchsorted(without, [first, first + batch.num_rows])
        kept = _without(batch, without[start:end] - first)
        first += batch.num_rows
        if kept.num_rows:
            yield kept


def _without(batch: pa.RecordBatch, rows: Numbers) -> pa.Table:
    """A batch except some rows. What lies between a few of them need not be copied."""
    if rows.size > _GAPS_MAX:
        return pa.Table.from_batches([batch.filter(pa.array(_all_but(batch.num_rows, rows)))])
    starts, ends = [0, *(rows + 1)], [*rows, batch.num_rows]
    stretches = [batch.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
    return pa.Table.from_batches([one for one in stretches if one.num_rows], batch.schema)


def _all_but(length: int, rows: Numbers) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    kept = np.ones(length, np.bool_)
    kept[rows] = False
    return kept


def _by_partition(
    entries: pa.Table, columns: Sequence[str]
) -> Iterable[tuple[dict[str, str | None], pa.Table]]:
    if not columns:
        return [({}, entries)] if entries.num_rows else []
    if strange := [name for name in columns if name not in entries.column_names]:
        raise RelationMismatch(f"the relation is partitioned by {strange[0]}, which entries lack")
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for number, row in enumerate(entries.select(list(columns)).to_pylist()):
        texts = tuple(partition_text(row[name]) for name in columns)
        groups.setdefault(texts, []).append(number)
    return [
        (dict(zip(columns, texts, strict=True)), entries.take(numbers).drop_columns(list(columns)))
        for texts, numbers in groups.items()
    ]


def _fitted(entries: pa.Table, snapshot: DeltaSnapshot) -> pa.Table:
    """The entries in the relation's own types."""
    fields = []
    for name in entries.column_names:
        position = snapshot.schema.get_field_index(name)
        if position < 0:
            raise RelationMismatch(f"Delta table {snapshot.relation} has no column {name}")
        field = snapshot.schema.field(position)
        if not field.nullable and entries.column(name).null_count:
            raise RelationMismatch(
                f"Delta table {snapshot.relation}: column {name} is never NULL, an entry's is"
            )
        fields.append(field)
    try:
        return entries.cast(pa.schema(fields))
    except pa.ArrowException as error:
        raise RelationMismatch(
            f"Delta table {snapshot.relation} does not take the entries: {error}"
        ) from error
