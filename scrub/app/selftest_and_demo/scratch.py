# SPDX-License-Identifier: Apache-2.0
"""A directory to write into: a temporary one, or one that the user wants to keep."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrub.errors import UsageError


@contextmanager
def scratch_directory(keep: Path | None) -> Iterator[Path]:
    """The directory to keep, which must be new or empty; else one that goes with the block."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="scrub-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        empty = not any(keep.iterdir())
    except OSError as error:
        raise UsageError(f"{keep} cannot be used: {error.strerror}") from error
    if not empty:
        raise UsageError(f"{keep} is not empty", hint="name a directory that is new or empty")
    yield keep
