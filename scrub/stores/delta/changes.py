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


class CannotFollow(StoreUnavailable):
    """What a commit of the table changed is not known, or not known any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """One version of a table, as files with rows that the version before did not have, or had."""

    came: Sequence[Split] = ()
    went: Sequence[Split] = ()
    feed: Sequence[Split] = ()  # each row says whether it came or went

    @property
    def bytes(self) -> int:
        return sum(split.bytes for split in (*self.came, *self.went, *self.feed))


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
    if feed := [action["cdc"] for action in actions if "cdc" in action]:
        return TableCommit(feed=[_split(snapshot, entry) for entry in feed])
    came, went = (
        [a[verb] for a in actions if verb in a and a[verb].get("dataChange", True)]
        for verb in ("add", "remove")
    )
    if any(entry.get("deletionVector") for entry in (*came, *went)):
        raise CannotFollow(
            f"commit {version} of Delta table {snapshot.relation} uses deletion vectors and "
            "carries no change feed, so the rows that it deleted are unknown",
            hint="set delta.enableChangeDataFeed or unset delta.enableDeletionVectors, and "
            "rebuild the index",
        )
    return TableCommit(
        came=[_split(snapshot, entry) for entry in came],
        went=[_split(snapshot, entry) for entry in went],
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
