# SPDX-License-Identifier: Apache-2.0
"""What to say when a relation is not there: what is, and which of it was probably meant."""

import difflib
from collections.abc import Mapping

import pyarrow.fs as pafs

from scrub.errors import RelationMissing, StoreUnavailable
from scrub.stores.locations import join, open_filesystem

_SHOWN_MAX = 8


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
    if close := difflib.get_close_matches(relation, names, n=1):
        return RelationMissing(message, hint=f"did you mean {close[0]}?", near=close[0])
    if not names:
        return RelationMissing(message, hint=f"there is no {kind} in {root}")
    more = f" and {len(names) - _SHOWN_MAX} more" if len(names) > _SHOWN_MAX else ""
    return RelationMissing(message, hint=f"there are: {', '.join(names[:_SHOWN_MAX])}{more}")


def _holds(filesystem: pafs.FileSystem, directory: str, marker: str) -> bool:
    return bool(filesystem.get_file_info(f"{directory}/{marker}").type != pafs.FileType.NotFound)
