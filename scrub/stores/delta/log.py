# SPDX-License-Identifier: Apache-2.0
"""The files of a Delta log: which versions they reach, and which one was current at a time."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.fs as pafs

from scrub.stores.locations import is_local, join, open_filesystem

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet|(\d{20})\.checkpoint\..*json")
_HARD_FOR_DELTA_RS = re.compile(r"[%\\#?]")


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The commits (version to time in ms) and checkpoints that a log directory holds."""

    uri: str
    commits: Mapping[int, float]
    checkpoints: frozenset[int]
    empty: tuple[str, ...]  # commits of no bytes: their writer, or a copy, was cut off

    @property
    def versions(self) -> tuple[int, ...]:
        """Every version that can be put together from what is there."""
        reached: list[int] = []
        for version in sorted(self.commits.keys() | self.checkpoints):
            follows = bool(reached) and reached[-1] == version - 1 and version in self.commits
            if version == 0 or version in self.checkpoints or follows:
                reached.append(version)
        return tuple(reached)

    def describe_versions(self) -> str:
        versions = self.versions
        return f"{versions[0]} to {versions[-1]}" if versions else "none"


def list_log(table_uri: str, options: Mapping[str, str]) -> LogFiles | None:
    """The log of a table; None if there is no log, so no table."""
    uri = join(table_uri, "_delta_log")
    filesystem, path = open_filesystem(uri, options)
    if filesystem.get_file_info(path).type != pafs.FileType.Directory:
        return None
    commits: dict[int, float] = {}
    checkpoints: set[int] = set()
    empty: list[str] = []
    for info in filesystem.get_file_info(pafs.FileSelector(path)):
        if commit := _COMMIT.fullmatch(info.base_name):
            commits[int(commit[1])] = info.mtime_ns / 1_000_000
            if not info.size:
                empty.append(info.base_name)
        elif checkpoint := _CHECKPOINT.fullmatch(info.base_name):
            checkpoints.add(int(checkpoint[1] or checkpoint[2]))
    return LogFiles(uri, commits, frozenset(checkpoints), tuple(sorted(empty)))


def version_at(log: LogFiles, moment: datetime, options: Mapping[str, str]) -> int | None:
    """The last version committed at or before a moment; None if the log begins later.

    A commit's time is the one it carries, if it does, else its file's. File times that go backwards
    are raised to the one before, as Delta does.
    """
    wanted = moment.timestamp() * 1000
    # Once a table's commits carry times, all later ones do: the last one tells for all.
    carry = bool(log.commits) and _carried_time(log, max(log.commits), options) is not None
    found: int | None = None
    latest = 0.0
    for version in log.versions:
        if version not in log.commits:
            continue
        carried = _carried_time(log, version, options) if carry else None
        latest = max(latest, carried if carried is not None else log.commits[version])
        if latest > wanted:
            break
        found = version
    return found


def _carried_time(log: LogFiles, version: int, options: Mapping[str, str]) -> float | None:
    filesystem, path = open_filesystem(log.uri, options)
    with filesystem.open_input_stream(f"{path}/{version:020}.json") as stream:
        first = stream.read(65536).split(b"\n", 1)[0]
    try:
        # In-commit timestamps stand in the first action, which must be the commitInfo.
        carried = json.loads(first).get("commitInfo", {}).get("inCommitTimestamp")
    except (ValueError, AttributeError):
        return None
    return None if carried is None else float(carried)


@contextmanager
def openable(table_uri: str) -> Iterator[str]:
    """A name of the table that delta-rs opens: it trips over some characters in local paths.

    It resolves a link to the table, so the stand-in is a directory that links to the log only.
    """
    if not is_local(table_uri) or not _HARD_FOR_DELTA_RS.search(table_uri):
        yield table_uri
        return
    with TemporaryDirectory(prefix="scrub-delta-") as directory:
        Path(directory, "_delta_log").symlink_to(Path(table_uri, "_delta_log"))
        yield directory
