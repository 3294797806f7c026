# SPDX-License-Identifier: Apache-2.0
"""The error for a missing relation: what exists beside it, and what was probably meant."""

from collections.abc import Mapping

import pyarrow.fs as pafs

from scrub.catalog.spelling import closest, did_you_mean
from scrub.errors import RelationMissing, StoreUnavailable
from scrub.stores.locations import join, open_filesystem


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
