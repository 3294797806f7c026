# SPDX-License-Identifier: Apache-2.0
"""The data files below a relation's directory."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.fs as pafs

from scrub.stores.files.partition_values import path_partition
from scrub.stores.locations import open_filesystem


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file, its size when it was listed, and the partition values its path stands for."""

    uri: str
    bytes: int
    partition: Mapping[str, str | None]


def list_files(root: str, options: Mapping[str, str]) -> tuple[DataFile, ...]:
    """Every data file below root, or root itself if it is a file; FileNotFoundError if neither."""
    filesystem, path = open_filesystem(root, options)
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise FileNotFoundError(root)
    if info.type == pafs.FileType.File:
        return (DataFile(root, info.size, {}),)
    prefix = len(path.rstrip("/")) + 1
    found = filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
    files = sorted(
        (item.path[prefix:], item.size) for item in found if item.type == pafs.FileType.File
    )
    return tuple(
        DataFile(f"{root.rstrip('/')}/{relative}", size, path_partition(relative))
        for relative, size in files
        if not any(is_hidden(part) for part in relative.split("/"))
    )


def is_hidden(name: str) -> bool:
    """Names that writers keep for themselves; but a partition column may be named `_year`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
