# SPDX-License-Identifier: Apache-2.0
"""A directory of files that is there as a whole or not at all."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.errors import ScrubError, UsageError


def demand_free(directory: Path) -> None:
    """Refuse a place where something is already; an empty directory will do."""
    if not directory.is_dir():
        if directory.exists() or directory.is_symlink():
            raise UsageError(f"--patch {directory}: that is no directory", hint=_HINT)
        if not directory.absolute().parent.is_dir():
            raise UsageError(
                f"--patch {directory}: there is no directory {directory.absolute().parent}",
                hint="make it first",
            )
        return
    if any(directory.iterdir()):
        raise UsageError(f"--patch {directory}: the directory is not empty", hint=_HINT)


_HINT = "name a new directory, or an empty one: what is there is never overwritten"


@contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """A draft to write into, which becomes the directory when the block ends well."""
    target = directory.resolve()  # a link stays a link
    draft = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        draft.mkdir()
        yield draft
        for file in draft.iterdir():
            _make_durable(file)
        _make_durable(draft)
        try:
            draft.rename(target)  # which the system refuses where anything is in it by now
        except OSError as error:
            demand_free(directory)
            raise error from None
        _make_durable(target.parent)
    except OSError as error:
        raise ScrubError(
            f"--patch {directory}: the patch could not be written: {error.strerror or error}"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_name(index: str, ending: str) -> str:
    """What a file of an index is called: an index may be called anything, a file may not."""
    safe = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", index)
    return f"{safe}.{ending}"


_UNSAFE = re.compile(r'[/\\:*?"<>|%]|^\.')


def write_entries(path: Path, entries: pa.Table) -> None:
    """Entries as Parquet; times as Spark and others read them."""
    pq.write_table(entries, path, coerce_timestamps="us")
