# SPDX-License-Identifier: Apache-2.0
"""What a check of whole tables counted in one part; names and numbers, never a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scrub.model.defect import DefectKind

FaultCounts = Mapping[tuple[str, DefectKind], int]
"""How many faults there are, by subject (a column, a rule) and kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFaults:
    """Rows looked at, and faults by subject and kind."""

    rows: int = 0
    counts: FaultCounts = field(default_factory=dict)
    misfits: tuple[str, ...] = ()  # columns that the file, or the relation, holds in another type
    error: str | None = None  # why the part could not be read

    def by_kind(self) -> dict[DefectKind, int]:
        """How many defects that is."""
        found: dict[DefectKind, int] = {}
        for (_, kind), number in self.counts.items():
            found[kind] = found.get(kind, 0) + number
        if self.misfits:
            wrong = found.get(DefectKind.INVALID_ENCODING, 0) + len(self.misfits)
            found[DefectKind.INVALID_ENCODING] = wrong
        return found

    def as_report(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        faults = [[subject, kind.value, number] for (subject, kind), number in self.counts.items()]
        report = {"rows": self.rows, "faults": faults, "misfits": list(self.misfits)}
        return report if self.error is None else {"error": self.error}

    @classmethod
    def of_report(cls, report: Mapping[str, Any]) -> "PartFaults":
        if "error" in report:
            return cls(error=report["error"])
        return cls(
            rows=report["rows"],
            counts={(subject, DefectKind(kind)): n for subject, kind, n in report["faults"]},
            misfits=tuple(report["misfits"]),
        )
