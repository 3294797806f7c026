# SPDX-License-Identifier: Apache-2.0
"""Plain files under a directory: listing them, what their footers say, and cutting them in splits.

Only footers are read here. A file that is no Parquet still becomes a split, so that the run names
it and is incomplete.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from scrub.codec.arrow_types import from_arrow
from scrub.errors import StoreUnavailable
from scrub.model.relation import Split
from scrub.model.types import ColumnType, TypeName, widens
from scrub.stores.locations import is_local, open_filesystem
from scrub.stores.native_scan import describe
from scrub.stores.partition_values import path_partition

SPLIT_BYTES_MAX = 128 * 1024 * 1024
FOOTERS_MAX = 200
_FOOTER_THREADS = 16


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file found below a relation's directory."""

    uri: str
    bytes: int
    partition: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself before its rows are read."""

    schema: pa.Schema
    instants: frozenset[str]  # columns stored as INT96, which Arrow shows without a zone
    rows: int
    group_bytes: tuple[int, ...]
    group_rows: tuple[int, ...]


def list_files(root: str, options: Mapping[str, str]) -> tuple[DataFile, ...]:
    """Every data file below root, or root itself if it is a file; FileNotFoundError if neither.

    Names that start with `_` or `.` are the writers' own, as in Spark.
    """
    filesystem, path = open_filesystem(root, options)
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise FileNotFoundError(root)
    if info.type == pafs.FileType.File:
        return (DataFile(root, info.size, {}),)
    found = filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
    files = (
        (item.path[len(path.rstrip("/")) + 1 :], item.size)
        for item in found
        if item.type == pafs.FileType.File
    )
    return tuple(
        DataFile(f"{root.rstrip('/')}/{relative}", size, path_partition(relative))
        for relative, size in sorted(files)
        if not any(_is_hidden(part) for part in relative.split("/"))
    )


def _is_hidden(name: str) -> bool:
    # A partition column may be named `_year`: its directories are data.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def read_footer(uri: str, options: Mapping[str, str]) -> Footer | Exception:
    """The footer, or why it cannot be read."""
    try:
        filesystem, path = open_filesystem(uri, options)
        metadata = pq.read_metadata(path, filesystem=None if is_local(uri) else filesystem)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        return error
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return Footer(
        schema=schema,
        instants=_int96_columns(metadata),
        rows=metadata.num_rows,
        group_bytes=tuple(_compressed_bytes(group) for group in groups),
        group_rows=tuple(group.num_rows for group in groups),
    )


def read_footers(uris: Sequence[str], options: Mapping[str, str]) -> list[Footer | Exception]:
    with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
        return list(pool.map(lambda uri: read_footer(uri, options), uris))


def sample(files: Sequence[DataFile]) -> list[DataFile]:
    """At most about 200 files, evenly spread."""
    step = max(1, -(-len(files) // FOOTERS_MAX))
    return list(files[::step])


def estimate_rows(
    files: Sequence[DataFile], rows: Sequence[int | None], options: Mapping[str, str]
) -> int | None:
    """The sum, where rows without a number are taken to be as long as the others."""
    known = [
        (file.bytes, count) for file, count in zip(files, rows, strict=True) if count is not None
    ]
    if files and not known:
        looked_at = sample(files)
        footers = read_footers([file.uri for file in looked_at], options)
        known = [
            (file.bytes, footer.rows)
            for file, footer in zip(looked_at, footers, strict=True)
            if isinstance(footer, Footer)
        ]
    known_bytes = sum(size for size, _ in known)
    known_rows = sum(count for _, count in known)
    total_bytes = sum(file.bytes for file in files)
    if known_bytes == 0:
        return 0 if not files else None
    return (
        round(known_rows * (total_bytes / known_bytes))
        if total_bytes != known_bytes
        else known_rows
    )


def split_files(
    files: Sequence[DataFile], rows: Sequence[int | None], options: Mapping[str, str]
) -> tuple[Split, ...]:
    """Splits of files whose rows are known from elsewhere; only big ones have their footer read."""
    big = [file.uri for file in files if file.bytes > SPLIT_BYTES_MAX]
    footers = dict(zip(big, read_footers(big, options), strict=True))
    splits: list[Split] = []
    for file, count in zip(files, rows, strict=True):
        if isinstance(footers.get(file.uri), Footer):
            splits.extend(split_file(file, footers[file.uri]))
        else:
            splits.append(
                Split(uri=file.uri, bytes=file.bytes, rows=count, partition=file.partition)
            )
    return tuple(splits)


def _compressed_bytes(group: Any) -> int:
    return sum(group.column(i).total_compressed_size for i in range(group.num_columns))


def _int96_columns(metadata: Any) -> frozenset[str]:
    schema = metadata.schema
    columns = (schema.column(i) for i in range(metadata.num_columns))
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def split_file(file: DataFile, footer: Footer | Exception | None) -> Iterator[Split]:
    """One split, or one per run of row groups that stays under the limit."""
    if not isinstance(footer, Footer):
        yield Split(uri=file.uri, bytes=file.bytes, partition=file.partition)
        return
    if file.bytes <= SPLIT_BYTES_MAX or len(footer.group_bytes) < 2:  # noqa: PLR2004 - two halves
        yield Split(uri=file.uri, bytes=file.bytes, rows=footer.rows, partition=file.partition)
        return
    for groups in _runs(footer.group_bytes):
        yield Split(
            uri=file.uri,
            bytes=sum(footer.group_bytes[i] for i in groups),
            rows=sum(footer.group_rows[i] for i in groups),
            row_groups=groups,
            partition=file.partition,
        )


def _runs(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    run: list[int] = []
    for group, size in enumerate(sizes):
        if run and sum(sizes[i] for i in run) + size > SPLIT_BYTES_MAX:
            yield tuple(run)
            run = []
        run.append(group)
    yield tuple(run)


def merge_schemas(footers: Sequence[Footer]) -> dict[str, ColumnType | None]:
    """The columns of all files; of two types the wider, or None when neither holds the other."""
    merged: dict[str, ColumnType | None] = {}
    spelling: dict[str, str] = {}
    for footer in footers:
        for field in footer.schema:
            name = spelling.setdefault(field.name.lower(), field.name)
            stored = _stored_type(field, footer)
            merged[name] = _wider(merged[name], stored) if name in merged else stored
    return merged


def _stored_type(field: pa.Field, footer: Footer) -> ColumnType | None:
    if field.name in footer.instants:
        return ColumnType(TypeName.TIMESTAMP)
    return from_arrow(field.type)


def _wider(one: ColumnType | None, other: ColumnType | None) -> ColumnType | None:
    if one is None or other is None:
        return None
    if widens(one, other):
        return other
    return one if widens(other, one) else None


def first_unreadable(
    relation: str, files: Sequence[DataFile], footers: Mapping[str, Footer | Exception]
) -> StoreUnavailable:
    """The error for a relation of which not one file tells its schema."""
    uri, footer = next(iter(footers.items()))
    reason = describe(footer) if isinstance(footer, Exception) else ""
    return StoreUnavailable(f"{relation}: none of {len(files)} files is readable; {uri}: {reason}")


def read_parquet(
    relation: str, files: Sequence[DataFile], options: Mapping[str, str]
) -> tuple[dict[str, ColumnType | None], tuple[Split, ...], int | None]:
    """Columns, splits and number of rows of listed files, from their footers."""
    looked_at = [file.uri for file in sample(files)]
    footers = dict(zip(looked_at, read_footers(looked_at, options), strict=True))
    readable = [footer for footer in footers.values() if isinstance(footer, Footer)]
    if files and not readable:
        raise first_unreadable(relation, files, footers)
    rows = [_rows(footers.get(file.uri)) for file in files]
    return (
        merge_schemas(readable),
        split_files(files, rows, options),
        estimate_rows(files, rows, options),
    )


def _rows(footer: Footer | Exception | None) -> int | None:
    return footer.rows if isinstance(footer, Footer) else None
