# SPDX-License-Identifier: Apache-2.0
"""How far the scan of a run has come."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from checks.bucket_sums import RunSums, SlotSums
from checks.finished_parts import Finished
from checks.numbering import Slot
from checks.only_spark import OnlySpark
from checks.parts import Part
from checks.riding import Reports
from checks.task_sums import IN_DOUBT, REPORT_SLOT
from scrub.codec.digest import Salt


@dataclass(slots=True)
class ScanState:
    """Sums so far, the parts they are of, and how fast it goes."""

    salt: Salt
    sums: RunSums
    done: set[int]
    resumed: frozenset[int] = frozenset()  # parts that an interrupted run had read
    rows_done: int = 0
    rows_per_second: float | None = None
    bytes_read: dict[str, int] = field(default_factory=dict)
    reports: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """By part and check, what riding checks counted; a part read twice does not count twice."""

    @classmethod
    def start(cls, slots: Sequence[Slot], earlier: Finished | None) -> "ScanState":
        """From nothing, or from what an interrupted run of the same check had added up."""
        if earlier is not None:
            return cls(
                earlier.salt,
                earlier.sums,
                set(earlier.parts),
                resumed=earlier.parts,
                bytes_read=dict(earlier.bytes_read),
                reports=dict(earlier.reports),
            )
        sums = {slot.number: SlotSums.empty(slot.table.bucket_bits) for slot in slots}
        return cls(Salt.fresh(), RunSums(sums), set())

    def add(self, fingerprints: pa.Table, parts: Sequence[Part]) -> list[tuple[Part, str]]:
        """Take in a job; returns the parts that tasks could not read, with the reason.

        Raises OnlySpark if tasks met what they cannot evaluate.
        """
        if "bucket" in fingerprints.column_names:
            # A job of Spark SQL has read all of its parts, or failed as a whole.
            self.sums.add_rows(fingerprints)
            self.done |= {part.number for part in parts}
            return []
        by_number = {part.number: part for part in parts}
        lost: list[tuple[Part, str]] = []
        for row in fingerprints.to_pylist():
            if row["slot"] != REPORT_SLOT:
                self.sums.slots[row["slot"]].add_piece(row["chunk"], row["sums"])
                continue
            part, report = by_number[row["chunk"]], json.loads(row["report"])
            if IN_DOUBT in report:
                raise OnlySpark(part.relation.table.table.name, report[IN_DOUBT])
            if "riding" in report:
                self.reports[part.number] = _joined(self.reports.get(part.number), report)
            if "error" in report:
                lost.append((part, report["error"]))
                continue
            self.done.add(part.number)
            relation = part.relation
            if relation.is_native and (relation.is_table or relation.table.pairs is not None):
                table = relation.table.table.name
                self.bytes_read[table] = self.bytes_read.get(table, 0) + report["bytes"]
        return lost

    def reports_of(self, check: str) -> Reports:
        """What one riding check counted, by part."""
        return {number: of[check] for number, of in self.reports.items() if check in of}

    def note_speed(self, rows: int, seconds: float) -> None:
        self.rows_done += rows
        self.rows_per_second = rows / max(seconds, 0.001)


def _joined(before: Mapping[str, Any] | None, report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Several tasks of Spark may report on one part: lists and numbers add up."""
    riding: Mapping[str, Mapping[str, Any]] = report["riding"]
    if before is None or not report.get("adds_up"):
        return riding
    return {
        check: {name: before[check][name] + value for name, value in counted.items()}
        for check, counted in riding.items()
    }
