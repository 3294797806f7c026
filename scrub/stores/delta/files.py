# SPDX-License-Identifier: Apache-2.0
"""Data files of a Delta table: writing new ones, and old ones again without some of their rows.

Nothing here is visible to readers before a commit names the files.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrub.errors import RelationMismatch, StoreUnavailable, first_line
from scrub.model.table import Column
from scrub.stores.delta.commit import Mark, commit_next
from scrub.stores.delta.dictionaries import COMPRESSION, worth_a_dictionary
from scrub.stores.delta.rewriting import ROW_GROUP_ROWS, Leaving, Rows, these
from scrub.stores.delta.snapshot import DeltaSnapshot, SnapshotFile
from scrub.stores.files import parquet_columns
from scrub.stores.files.parquet_scan import open_parquet, problem_with_file
from scrub.stores.files.partition_values import partition_text
from scrub.stores.in_parallel import in_parallel
from scrub.stores.locations import join, open_file, open_filesystem
from scrub.stores.unreadable import UnreadableSplit

_LEFT_AS_THEY_ARE = "!$&'()+,-./:;=@_~"
_ARROW_SCHEMA = b"ARROW:schema"
_TEXT_BOUND_MAX = 32  # characters; longer ones are left out, as other writers cut them off


@dataclass(frozen=True, slots=True)
class _Draft:
    """A file as it would be without some rows."""

    left: Sequence[int]
    add: Any | None  # None: no other row is in it


class NewFiles(AbstractContextManager["NewFiles"]):
    """Files written for the version after a snapshot; at the end, those that no commit names go."""

    def __init__(self, snapshot: DeltaSnapshot) -> None:
        self.snapshot = snapshot
        self.adds: list[Any] = []
        self._drafts: dict[str, _Draft] = {}
        self._written: list[str] = []
        self._named: set[str] = set()  # what a commit names, or may name

    def __exit__(self, *_: object) -> None:
        self.discard()

    def write(self, entries: pa.Table) -> None:
        """Entries as new files: one, or one for each partition."""
        for partition, rows in _by_partition(entries, self.snapshot.partition_columns):
            fitted = _fitted(rows, self.snapshot)
            self.adds.append(self._write([fitted], fitted.schema, partition))

    def write_again(self, file: SnapshotFile, without: Sequence[int]) -> None:
        """A file's rows except those at some places; nothing if no other is left."""
        numbers = np.unique(np.array(without, np.int64))
        draft = self._drafts.get(file.path)
        if draft is None or list(draft.left) != numbers.tolist():
            with self._rows(file, (), these(numbers)) as (parquet, rows):
                add = self._write_staying(file, parquet, rows.staying())
            draft = _Draft(rows.left, add)
        if draft.add is not None:
            self.adds.append(draft.add)

    def write_without(self, places: Iterable[tuple[SnapshotFile, int]]) -> list[SnapshotFile]:
        """Files without some of their rows; the files whose place these take."""
        gone: dict[str, list[int]] = {}
        files: dict[str, SnapshotFile] = {}
        for file, row in places:
            files[file.path] = file
            gone.setdefault(file.path, []).append(row)
        in_parallel(lambda path: self.write_again(files[path], gone[path]), list(gone))
        return list(files.values())

    def draft(self, file: SnapshotFile, columns: Sequence[Column], leaving: Leaving) -> None:
        """Show all rows of a file, and write it again meanwhile if some leave it early on.

        Nothing is decided by that: `write_again` takes the draft if it lacks just the right rows.
        """
        with self._rows(file, columns, leaving) as (parquet, rows):
            staying = rows.staying_if_some_leave()
            if staying is not None:
                add = self._write_staying(file, parquet, staying)
                self._drafts[file.path] = _Draft(rows.left, add)

    def commit(self, removed: Iterable[SnapshotFile] = (), mark: Mark | None = None) -> bool:
        """Have them take the place of other files; False if somebody else made the version."""
        actions = [*self.adds, *map(remove_action, removed)]
        # From here on nobody can tell what the log names, unless it is told.
        self._named = {add.path for add in self.adds}
        is_ours = commit_next(self.snapshot, actions, mark)
        if not is_ours:
            self._named = set()
        return is_ours

    def discard(self) -> None:
        """Remove what no commit names; a file that stays is only waste, until a vacuum."""
        for name in self._written:
            if name in self._named:
                continue
            uri = join(self.snapshot.uri, name)
            filesystem, path = open_filesystem(uri, self.snapshot.options)
            with suppress(OSError):
                filesystem.delete_file(path)

    @contextmanager
    def _rows(
        self, file: SnapshotFile, columns: Sequence[Column], leaving: Leaving
    ) -> Iterator[tuple[pq.ParquetFile, Rows]]:
        relation = self.snapshot.relation
        try:
            with open_file(file.uri, self.snapshot.options) as opened:
                parquet = open_parquet(opened)
                yield parquet, Rows(parquet, file, self.snapshot, columns, leaving)
        except (OSError, pa.ArrowException, UnreadableSplit) as error:
            reason = (
                error.reason if isinstance(error, UnreadableSplit) else problem_with_file(error)
            )
            raise StoreUnavailable(f"Delta table {relation}: {file.uri}: {reason}") from error

    def _write_staying(
        self, file: SnapshotFile, parquet: pq.ParquetFile, staying: Iterator[pa.Table]
    ) -> Any | None:
        """The action that adds a file in the place of another; None if there is no row for it."""
        first = next(staying, None)
        if first is None:
            return None
        schema = _with_zones(parquet)
        rows: Iterable[pa.Table] = chain([first], staying)
        if schema != parquet.schema_arrow:
            rows = (batch.cast(schema) for batch in rows)
        return self._write(
            rows,
            schema,
            file.partition,
            worth_a_dictionary(parquet.metadata, first),
            parquet.metadata.metadata,
        )

    def _write(
        self,
        batches: Iterable[pa.Table],
        schema: pa.Schema,
        partition: Mapping[str, str | None],
        dictionary: Sequence[str] | None = None,
        marks: Mapping[bytes, bytes] | None = None,
    ) -> Any:
        name = f"part-{uuid.uuid4().hex}.parquet"
        uri = join(self.snapshot.uri, name)
        filesystem, path = open_filesystem(uri, self.snapshot.options)
        self._written.append(name)
        try:
            with filesystem.open_output_stream(path) as stream:
                _write_parquet(stream, batches, schema, dictionary, marks)
            size = filesystem.get_file_info(path).size
            metadata = pq.read_metadata(path, filesystem=filesystem)
        except OSError as error:
            raise StoreUnavailable(f"{uri} could not be written: {first_line(error)}") from error
        return add_action(name, size, partition, metadata)


def _with_zones(parquet: pq.ParquetFile) -> pa.Schema:
    """The schema of a copy. INT96, as Spark writes it, tells no zone, but means an instant."""
    schema = parquet.schema_arrow
    for position, field in enumerate(schema):
        leaf = parquet_columns.first_leaf(schema, position)
        if parquet.schema.column(leaf).physical_type == "INT96" and field.type.num_fields == 0:
            schema = schema.set(position, field.with_type(pa.timestamp("us", "UTC")))
    return schema


def _write_parquet(
    stream: pa.NativeFile,
    batches: Iterable[pa.Table],
    schema: pa.Schema,
    dictionary: Sequence[str] | None,
    marks: Mapping[bytes, bytes] | None,
) -> None:
    with pq.ParquetWriter(
        stream,
        schema,
        compression=COMPRESSION,
        use_dictionary=True if dictionary is None else (list(dictionary) or False),
        store_schema=False,  # a text is a text, however it came here
        write_batch_size=ROW_GROUP_ROWS,  # codes of texts are counted once for each batch
    ) as writer:
        # What its writer has noted, as Spark does the calendar of dates, is true of the copy.
        kept = {k: v for k, v in (marks or {}).items() if k != _ARROW_SCHEMA}
        writer.add_key_value_metadata(kept)
        for batch in batches:
            writer.write_table(batch, row_group_size=ROW_GROUP_ROWS)


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
            hint="rewrite the table with delta-rs, or rebuild the index",
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
        bounds = [_bounds(s) for s in valued if s.has_min_max]
        if valued and len(bounds) == len(valued) and all(_is_bound(*one) for one in bounds):
            lowest[name] = min(one[0] for one in bounds)
            highest[name] = max(one[1] for one in bounds)
    return json.dumps(
        {
            "numRecords": metadata.num_rows,
            "minValues": lowest,
            "maxValues": highest,
            "nullCount": nulls,
        }
    )


def _bounds(statistics: Any) -> tuple[Any, Any]:
    """Of one row group; None for times that Python's calendar does not reach."""
    try:
        return statistics.min, statistics.max
    except (OverflowError, ValueError):
        return None, None


def _is_bound(lowest: Any, highest: Any) -> bool:
    """Whether every reader of the log orders such values alike."""
    if isinstance(lowest, bool):
        return False
    if isinstance(lowest, str):
        return max(len(lowest), len(highest)) <= _TEXT_BOUND_MAX
    return isinstance(lowest, int)


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
        if "" in texts:
            name = columns[texts.index("")]
            raise RelationMismatch(
                f"the relation is partitioned by {name}, and an empty text there would be read as "
                "NULL",
                hint=f"partition it by another column than {name}",
            )
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
