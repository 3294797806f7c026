# SPDX-License-Identifier: Apache-2.0
"""The sums of finished parts, kept on disk so that the same check can resume after a crash.

One file a check, named after everything the sums depend on: the plan with its snapshots, and the
digest's version. It holds counts, sums, split numbers and names of columns, never a value of the
data. A file that cannot be read or belongs to another plan is as good as none.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.bucket_sums import RunSums, SlotSums
from checks.parts import Part
from scrub.codec.digest import DIGEST_VERSION, Salt
from scrub.model.plan import CheckPlan, Way
from scrub.model.relation import RelationFacts

_SLOT = "slot."


@dataclass(frozen=True, slots=True)
class Finished:
    """What an interrupted run had already added up."""

    salt: Salt
    parts: frozenset[int]
    sums: RunSums
    bytes_read: Mapping[str, int]  # by table
    reports: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # by part and check


class FinishedParts:
    """The file of one check; `directory` None keeps nothing."""

    def __init__(self, directory: Path | None, plan: CheckPlan, parts: tuple[Part, ...]) -> None:
        name = f"check-{_identity(plan, parts)}.npz"
        self._path = directory / name if directory and _can_resume(plan, parts) else None
        self.not_kept: str | None = None  # why nothing could be kept, if that was so

    def load(self) -> Finished | None:
        """What was finished before, if anything usable was kept."""
        if self._path is None:
            return None
        try:
            with np.load(self._path, allow_pickle=False) as arrays:
                return _unpack({name: arrays[name] for name in arrays.files})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, finished: Finished) -> None:
        """Replace the file in one step, so that a crash leaves the old one or the new one."""
        if self._path is None:
            return
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with temporary.open("wb") as file:
                np.savez(file, **dict(_pack(finished)))  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            # A full disk is no reason to give up a check that has not been interrupted.
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            self.not_kept = f"an interruption would start it over: {self._path.parent}: {error}"
            self._path = None

    def forget(self) -> None:
        """The check is complete: there is nothing to resume."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


def _identity(plan: CheckPlan, parts: tuple[Part, ...]) -> str:
    """Everything the sums depend on; when a listing was made, or by which engine, is not of it."""
    digest = hashlib.sha256(f"{DIGEST_VERSION}".encode())
    for table in plan.tables:
        indexes = [index.index for index in table.indexes]
        digest.update(repr((table.table, indexes, table.bucket_bits, table.where)).encode())
        keys = [relation.keys for relation in table.pairs.relations] if table.pairs else None
        digest.update(repr(keys).encode())
        digest.update(repr([(one.check, one.columns) for one in table.whole]).encode())
        ways = [(one.constraint.name, one.way) for one in table.constraints]
        digest.update(repr(ways).encode())
    for facts in _parents(plan):
        digest.update(repr((facts.relation, facts.snapshot.version, facts.splits)).encode())
    for part in parts:
        snapshot = part.relation.side.facts.snapshot
        digest.update(repr((part.relation.number, snapshot.version, part.splits)).encode())
    return digest.hexdigest()[:32]


def _can_resume(plan: CheckPlan, parts: tuple[Part, ...]) -> bool:
    """Sums of two runs may be added only when both saw the same snapshot."""
    relations = [*(part.relation.side.facts for part in parts), *_parents(plan)]
    return all(of.snapshot.pinned and of.snapshot.lasting for of in relations)


def _parents(plan: CheckPlan) -> list[RelationFacts]:
    """What foreign keys refer to in the scan, whose counts depend on it."""
    every = [one for table in plan.tables for one in table.constraints if one.way is Way.SCAN]
    return [one.parent.facts for one in every if one.parent is not None]


def _pack(finished: Finished) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "salt", np.array([finished.salt.first, finished.salt.second], dtype=np.int64)
    yield "parts", np.array(sorted(finished.parts), dtype=np.int64)
    yield "tables", np.array(list(finished.bytes_read), dtype=np.str_)
    yield "bytes_read", np.array(list(finished.bytes_read.values()), dtype=np.int64)
    reports = [json.dumps([number, report]) for number, report in finished.reports.items()]
    yield "reports", np.array(reports, dtype=np.str_)
    for slot, sums in finished.sums.slots.items():
        yield f"{_SLOT}{slot}", sums.buckets


def _unpack(arrays: dict[str, NDArray[Any]]) -> Finished:
    first, second = (int(number) for number in arrays["salt"])
    return Finished(
        Salt(first, second),
        frozenset(int(number) for number in arrays["parts"]),
        RunSums(
            {
                int(name.removeprefix(_SLOT)): SlotSums(buckets)
                for name, buckets in arrays.items()
                if name.startswith(_SLOT)
            }
        ),
        dict(zip(arrays["tables"].tolist(), arrays["bytes_read"].tolist(), strict=True)),
        dict(map(json.loads, arrays["reports"])),
    )
