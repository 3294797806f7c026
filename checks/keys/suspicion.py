# SPDX-License-Identifier: Apache-2.0
"""What tasks tell the driver about keys: a bounded number of digests, and reports on splits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.keys.findings import UnreadSplit
from checks.task_rows import as_batch

FOUND_SCHEMA = "key int, side int, digests binary, report string"
"""Digests that a task found, NULL if there are more than it may return; or, with `key` -1, a report
on a split of the side."""
REPORT = -1

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Found:
    """What all tasks of a job told."""

    digests: Mapping[int, Words | None]  # by key; None: more than tasks may return
    reports: Mapping[int, tuple[Mapping[str, object], ...]]  # by side

    def of_key(self, number: int) -> Words | None:
        """The digests found for a key, as 64-bit words; None if tasks found too many."""
        return self.digests.get(number, np.empty(0, dtype=np.uint64))

    def rows(self, side: int) -> int:
        """How many rows of a side were looked at."""
        return sum(int(str(report["rows"])) for report in self.reports.get(side, ()))

    def unread(self, side: int) -> tuple[UnreadSplit, ...]:
        """The splits of a side that could not be read."""
        lost = [r for r in self.reports.get(side, ()) if r["error"] is not None]
        unread = [UnreadSplit(int(str(r["number"])), str(r["error"])) for r in lost]
        return tuple(sorted(unread, key=lambda split: split.number))

    def unread_numbers(self, side: int) -> frozenset[int]:
        return frozenset(split.number for split in self.unread(side))


def found_rows(key: int, digests: Words, keys_max: int) -> pa.RecordBatch:
    """Digests as a row of FOUND_SCHEMA, or only that they are of too many keys."""
    octets = digests.tobytes() if len(digests) <= keys_max else None
    return as_batch([(key, 0, octets, None)], FOUND_SCHEMA)


def report_rows(reports: Sequence[tuple[int, str]]) -> pa.RecordBatch:
    """Reports on splits, by side, as rows of FOUND_SCHEMA."""
    return as_batch([(REPORT, side, None, report) for side, report in reports], FOUND_SCHEMA)


def found_in(table: pa.Table) -> Found:
    """Rows of FOUND_SCHEMA added up."""
    digests: dict[int, list[Words] | None] = {}
    reports: dict[int, list[Mapping[str, object]]] = {}
    for row in table.to_pylist():
        key, octets = row["key"], row["digests"]
        if key == REPORT:
            reports.setdefault(row["side"], []).append(json.loads(row["report"]))
        elif octets is None:
            digests[key] = None  # and so it stays
        elif (so_far := digests.setdefault(key, [])) is not None:
            so_far.append(np.frombuffer(octets, dtype=np.uint64))
    return Found(
        {k: None if some is None else np.concatenate(some) for k, some in digests.items()},
        {side: tuple(of_side) for side, of_side in reports.items()},
    )
