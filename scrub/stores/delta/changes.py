# SPDX-License-Identifier: Apache-2.0
"""What one commit of a Delta table changed: files with rows that came, rows that went, or a feed.

If a commit has change files (the change data feed), they alone say what it changed. If it has none,
the rows of the files it added came, and the rows of the files it removed went; Delta's protocol
defines a feed without change files in the same way. Files that only moved rows (a compaction)
change nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scrub.errors import StoreUnavailable
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.stores.delta.commit import commit_text
from scrub.stores.delta.snapshot import DeltaSnapshot, resolve
from scrub.stores.locations import open_filesystem

CHANGE_TYPE = Column(name="_change_type", type=ColumnType(TypeName.STRING))
CAME = frozenset({"insert", "update_postimage"})
WENT = frozenset({"delete", "update_preimage"})


class FileRole(StrEnum):
    """What a commit says of a file."""

    CAME = "came"
    WENT = "went"
    FEED = "feed"  # each row says whether it came or went


class CannotFollow(StoreUnavailable):
    """What a commit of the table changed is not known, or not known any more."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a commit names, and why."""

    role: FileRole
    split: Split


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One version of a table, as the difference from the version before."""

    version: int
    files: tuple[ChangedFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.split.bytes for file in self.files)


def read_commit(snapshot: DeltaSnapshot, version: int) -> TableCommit:
    """What a commit changed; raises CannotFollow if the log does not say."""
    text = commit_text(snapshot, version)
    if text is None:
        raise CannotFollow(
            f"commit {version} of Delta table {snapshot.relation} is not in its log any more: "
            "the log was cleaned up before an index had followed it",
            hint="rebuild the index; follow more often than the log is cleaned up",
        )
    actions = [json.loads(line) for line in text.splitlines() if line.strip()]
    feed = [action["cdc"] for action in actions if "cdc" in action]
    if feed:
        files = [ChangedFile(FileRole.FEED, _split(snapshot, entry)) for entry in feed]
        return TableCommit(version, tuple(files))
    changed = [
        (role, action[verb])
        for action in actions
        for verb, role in (("add", FileRole.CAME), ("remove", FileRole.WENT))
        if verb in action and action[verb].get("dataChange", True)
    ]
    for _, entry in changed:
        if entry.get("deletionVector"):
            raise CannotFollow(
                f"commit {version} of Delta table {snapshot.relation} uses deletion vectors and "
                "carries no change feed, so the rows that it deleted are unknown",
                hint="set delta.enableChangeDataFeed or unset delta.enableDeletionVectors, and "
                "rebuild the index",
            )
    return TableCommit(
        version, tuple(ChangedFile(role, _split(snapshot, entry)) for role, entry in changed)
    )


def _split(snapshot: DeltaSnapshot, entry: Mapping[str, Any]) -> Split:
    uri = resolve(snapshot.uri, entry["path"])
    partition = entry.get("partitionValues")
    if partition is None and snapshot.partition_columns:
        raise CannotFollow(
            f"Delta table {snapshot.relation}: its log does not give the partition of {uri}",
            hint="rebuild the index",
        )
    size = entry.get("size")
    return Split(
        uri=uri,
        bytes=_size(uri, snapshot) if size is None else size,
        # In a log, an empty text stands for NULL.
        partition={name: text or None for name, text in (partition or {}).items()},
    )


def _size(uri: str, snapshot: DeltaSnapshot) -> int:
    filesystem, path = open_filesystem(uri, snapshot.options)
    return int(filesystem.get_file_info(path).size or 0)


def splits_of(files: Sequence[ChangedFile], role: FileRole) -> list[Split]:
    return [file.split for file in files if file.role is role]
