# SPDX-License-Identifier: Apache-2.0
"""The error for a missing relation: what exists beside it, and what was probably meant."""

import os
import stat
from collections.abc import Mapping

import pyarrow.fs as pafs

from scrub.catalog.spelling import closest, did_you_mean
from scrub.errors import AccessDenied, RelationMismatch, RelationMissing, StoreUnavailable
from scrub.stores.locations import is_local, join, open_filesystem


def demand_directory(root: str) -> None:
    """Refuse a local directory that is not there, or that may not be entered."""
    if not is_local(root):
        return
    try:
        is_directory = stat.S_ISDIR(os.stat(root).st_mode)
    except PermissionError as error:
        raise AccessDenied(f"no permission to read {root}") from error
    except OSError:
        is_directory = False
    if not is_directory:
        hint = "correct `path` of the store; it is relative to the catalog"
        raise RelationMismatch(f"there is no directory {root}", hint=hint)
    if not os.access(root, os.R_OK | os.X_OK):
        raise AccessDenied(f"no permission to read {root}")


def no_such_relation(
    root: str, relation: str, kind: str, marker: str | None, options: Mapping[str, str]
) -> RelationMissing | StoreUnavailable:
    """The error for a missing relation; `marker` is a name that real ones contain."""
    filesystem, path = open_filesystem(root, options)
    if filesystem.get_file_info(path).type != pafs.FileType.Directory:
        return StoreUnavailable(f"there is no directory {root}")
    names = sorted(
        info.base_name
        for info in filesystem.get_file_info(pafs.FileSelector(path))
        if not info.base_name.startswith(("_", "."))
        and (marker is None or _holds(filesystem, info.path, marker))
    )
    message = f"there is no {kind} {join(root, relation)}"
    if not names:
        return RelationMissing(message, hint=f"there is no {kind} in {root}")
    hint = did_you_mean(relation, names, f"{kind}s")
    return RelationMissing(message, hint=hint, near=closest(relation, names))


def _holds(filesystem: pafs.FileSystem, directory: str, marker: str) -> bool:
    return bool(filesystem.get_file_info(f"{directory}/{marker}").type != pafs.FileType.NotFound)
