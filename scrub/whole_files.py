# SPDX-License-Identifier: Apache-2.0
"""Writes files that are whole or absent."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    target = path.resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")  # a device or a pipe cannot be replaced
        return
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def in_existing_folder(path: Path) -> Path:
    """A file that may come and go: in a folder that is not there, it never would."""
    if not path.parent.is_dir():
        raise ValueError(f"the folder '{path.parent}' does not exist")
    if path.is_dir():
        raise ValueError(f"'{path}' is a folder, not a file")
    return path


def writable_file(path: Path) -> Path:
    """A file to write; its folder must be there before an hour's work has nowhere to go."""
    in_existing_folder(path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"'{path}' cannot be written")
    return path
