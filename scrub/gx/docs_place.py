# SPDX-License-Identifier: Apache-2.0
"""Where Data Docs go: a directory that is whole or absent, and that holds nothing else."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from scrub.errors import MissingExtra, ScrubError, UsageError
from scrub.gx.page_rewriting import is_self_contained

INDEX_PAGE = "index.html"


def require_place(directory: Path) -> None:
    """Refuse, before anything is read, a directory that Data Docs cannot be written to."""
    if find_spec("great_expectations") is None:
        raise MissingExtra("gx", "--gx-docs")
    if directory.exists() and not _may_be_replaced(directory):
        raise UsageError(
            f"{directory} is not empty, and does not hold Data Docs of scrub",
            hint="name a new or an empty directory",
        )
    if not directory.absolute().parent.is_dir():
        raise UsageError(f"the directory {directory.absolute().parent} does not exist")


@contextmanager
def new_place(directory: Path) -> Iterator[Path]:
    """A directory to write to, which takes the place of the named one when the block ends well."""
    target = directory.resolve()
    try:
        unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield unfinished
            _put_in_place(unfinished, target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise ScrubError(
            f"Data Docs could not be written to {directory}: {error.strerror}"
        ) from error


def _may_be_replaced(directory: Path) -> bool:
    if not directory.is_dir():
        return False
    index = directory / INDEX_PAGE
    if index.is_file():
        return is_self_contained(index.read_text(encoding="utf-8", errors="replace"))
    return not any(directory.iterdir())


def _put_in_place(made: Path, target: Path) -> None:
    made.chmod(0o777 & ~_umask())  # `mkdtemp` makes what only its owner may read
    if not target.exists():
        made.rename(target)
        return
    old = made.with_name(f"{made.name}.old")
    target.rename(old)
    made.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
