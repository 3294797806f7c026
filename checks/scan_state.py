# SPDX-License-Identifier: Apache-2.0
"""How far the fingerprints of a run have come."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from checks.bucket_sums import RunSums, SlotSums
from checks.finished_parts import Finished
from checks.native_fingerprint import REPORT_SLOT
from checks.part_faults import PartFaults
from checks.parts import Part
from checks.slots import Slot
from scrub.codec.digest import Salt


@dataclass(slots=True)
class ScanState:
    """Sums so far, the parts they are of, and how fast it goes."""

    salt: Salt
    sums: RunSums
    done: set[int]
    resumed: int = 0
    rows_done: int = 0
    rows_per_second: float | None = None
    bytes_read: dict[str, int] = field(default_factory=dict)
    looked_at: dict[int, PartFaults] = field(default_factory=dict)  # by part

    @classmethod
    def start(cls, slots: Sequence[Slot], earlier: Finished | None) -> "ScanState":
        """From nothing, or from what an interrupted run of the same check had added up."""
        if earlier is not None:
            return cls(
                earlier.salt,
                earlier.sums,
                set(earlier.parts),
                resumed=len(earlier.parts),
                bytes_read=dict(earlier.bytes_read),
                looked_at=dict(earlier.looked_at),
            )
        sums = {slot.number: SlotSums.empty(slot.table.bucket_bits) for slot in slots}
        return cls(Salt.fresh(), RunSums(sums), set())

    def add_native(
        self, fingerprints: pa.Table, parts: Sequence[Part]
    ) -> Iterator[tuple[Part, str]]:
        """Take in a native job; returns the parts that tasks could not read, with the reason."""
        by_number = {part.number: part for part in parts}
        lost: list[tuple[Part, str]] = []
        for row in fingerprints.to_pylist():
            if row["slot"] != REPORT_SLOT:
                self.sums.slots[row["slot"]].add_piece(row["chunk"], row["sums"])
                continue
            part, report = by_number[row["chunk"]], json.loads(row["report"])
            if "physical" in report:
                # By part, so that one that is read twice does not count twice.
                self.looked_at[part.number] = PartFaults.of_report(report["physical"])
            if "error" in report:
                lost.append((part, report["error"]))
                continue
            self.done.add(part.number)
            if part.relation.is_table:
                table = part.relation.table.table.name
                self.bytes_read[table] = self.bytes_read.get(table, 0) + report["bytes"]
        return iter(lost)

    def add_sql(self, fingerprints: pa.Table, parts: Sequence[Part]) -> None:
        """Take in a job of Spark SQL, which has read all of its parts, or failed as a whole."""
        self.sums.add_rows(fingerprints)
        self.done |= {part.number for part in parts}

    def note_speed(self, rows: int, seconds: float) -> None:
        self.rows_done += rows
        self.rows_per_second = rows / max(seconds, 0.001)

    def as_finished(self) -> Finished:
        return Finished(self.salt, frozenset(self.done), self.sums, self.bytes_read, self.looked_at)
