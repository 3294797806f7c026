# SPDX-License-Identifier: Apache-2.0
"""Parquet files as splits, with what their footers tell.

A file that is no Parquet still becomes a split, so that the run names it and is incomplete.
"""

from collections.abc import Iterator, Mapping, Sequence

from scrub.errors import StoreUnavailable
from scrub.model.relation import Split
from scrub.model.types import ColumnType
from scrub.stores.files.data_files import DataFile
from scrub.stores.files.footers import Footer, merge_columns, read_footers
from scrub.stores.files.parquet_scan import problem_with_file

SPLIT_BYTES_MAX = 128 * 1024 * 1024
FOOTERS_MAX = 200


def read_parquet(
    relation: str, files: Sequence[DataFile], options: Mapping[str, str]
) -> tuple[dict[str, ColumnType | None], tuple[Split, ...], int | None]:
    """Columns, splits and number of rows of listed files, from their footers.

    Of very many files a sample is read: a column that only the others have is not found, and the
    number of rows is an estimate.
    """
    sample = _sample([file.uri for file in files])
    footers = dict(zip(sample, read_footers(sample, options), strict=True))
    readable = [footer for footer in footers.values() if isinstance(footer, Footer)]
    if files and not readable:
        raise _none_readable(relation, footers) from _first_error(footers)
    rows = [_rows(footers.get(file.uri)) for file in files]
    splits = split_files(files, rows, options)
    return merge_columns(readable), splits, estimate_rows(files, rows, options)


def split_files(
    files: Sequence[DataFile], rows: Sequence[int | None], options: Mapping[str, str]
) -> tuple[Split, ...]:
    """One split for each file, several for big ones, whose footers are read to cut them."""
    big = [file.uri for file in files if file.bytes > SPLIT_BYTES_MAX]
    footers = dict(zip(big, read_footers(big, options), strict=True))
    return tuple(
        split
        for file, count in zip(files, rows, strict=True)
        for split in _split_file(file, count, footers.get(file.uri))
    )


def _split_file(
    file: DataFile, rows: int | None, footer: Footer | Exception | None
) -> Iterator[Split]:
    if not isinstance(footer, Footer) or len(footer.group_rows) <= 1:
        yield Split(uri=file.uri, bytes=file.bytes, rows=rows, partition=file.partition)
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
    """Consecutive row groups that together stay under the limit."""
    run: list[int] = []
    for group, size in enumerate(sizes):
        if run and sum(sizes[i] for i in run) + size > SPLIT_BYTES_MAX:
            yield tuple(run)
            run = []
        run.append(group)
    yield tuple(run)


def estimate_rows(
    files: Sequence[DataFile], rows: Sequence[int | None], options: Mapping[str, str]
) -> int | None:
    """The sum, where a file of unknown rows is taken to hold as many per byte as the others."""
    if not files:
        return 0
    known = dict(zip((file.uri for file in files), rows, strict=True))
    if all(count is None for count in rows):
        sample = _sample([file.uri for file in files])
        footers = zip(sample, read_footers(sample, options), strict=True)
        known |= {uri: _rows(footer) for uri, footer in footers}
    counted = [(file.bytes, count) for file in files if (count := known[file.uri]) is not None]
    counted_bytes = sum(size for size, _ in counted)
    if not counted_bytes:
        return None
    unknown_bytes = sum(file.bytes for file in files) - counted_bytes
    counted_rows = sum(count for _, count in counted)
    return counted_rows + round(counted_rows * unknown_bytes / counted_bytes)


def _sample(uris: Sequence[str]) -> list[str]:
    step = -(-len(uris) // FOOTERS_MAX) or 1
    return list(uris[::step])


def _rows(footer: Footer | Exception | None) -> int | None:
    return footer.rows if isinstance(footer, Footer) else None


def _first_error(footers: Mapping[str, Footer | Exception]) -> Exception | None:
    return next((one for one in footers.values() if isinstance(one, Exception)), None)


def _none_readable(relation: str, footers: Mapping[str, Footer | Exception]) -> StoreUnavailable:
    uri, footer = next(iter(footers.items()))
    reason = problem_with_file(footer) if isinstance(footer, Exception) else ""
    return StoreUnavailable(f"{relation}: not one of its files is readable; {uri}: {reason}")
