# SPDX-License-Identifier: Apache-2.0
"""Defects that a join has named: counted first, then shown in order, as many as are wanted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checks.jobs import Jobs
from scrub.model.defect import DefectKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Counts = dict[int, dict[DefectKind, int]]  # by slot
HeldDefect = Mapping[str, Any]

DEFECT_SCHEMA = (
    "slot int, kind string, expected_copies bigint, actual_copies bigint, "
    "primary_key array<string>, index_key array<string>, "
    "expected array<string>, actual array<string>"
)
"""Defects of any index: values are canonical texts, `expected` and `actual` the stored columns."""

_ORDER = ("slot", "kind", "primary_key", "index_key")


@dataclass(frozen=True, slots=True)
class NamedDefects:
    """Defects as DEFECT_SCHEMA: held here where they are known to be few, else a frame of them.

    Each question to a frame is a job of its own, which takes longer than the few rows need.
    """

    frame: "DataFrame | None" = None
    held: tuple[HeldDefect, ...] | None = None

    @classmethod
    def holding(cls, rows: Iterable[Any]) -> "NamedDefects":
        """Few defects, as mappings or as rows of Spark."""
        return cls(held=tuple(r.asDict() if hasattr(r, "asDict") else r for r in rows))

    def as_frame(self, jobs: Jobs) -> "DataFrame":
        """The defects as a frame, for those who join them with one."""
        if self.frame is not None:
            return self.frame
        names = [column.split()[0] for column in DEFECT_SCHEMA.split(", ")]
        rows = [tuple(defect[name] for name in names) for defect in self.held or ()]
        return jobs.spark.createDataFrame(rows, DEFECT_SCHEMA)

    def decided(self, undecidable: Mapping[int, frozenset[DefectKind]]) -> "NamedDefects":
        """Those that nothing unread could explain."""
        if self.held is not None:
            return NamedDefects.holding(
                r for r in self.held if DefectKind(r["kind"]) not in undecidable[r["slot"]]
            )
        return NamedDefects(_without(self.framed, undecidable))

    @property
    def framed(self) -> "DataFrame":
        """The frame of those that are not held."""
        assert self.frame is not None, "held defects have no frame"
        return self.frame

    def counted(self) -> "DataFrame":
        """How many there are of each kind in each slot."""
        return self.framed.groupBy("slot", "kind").count()

    def in_order(self, limit: int | None) -> "DataFrame":
        ordered = self.framed.orderBy(*_ORDER)
        return ordered if limit is None else ordered.limit(limit)

    def held_in_order(self, limit: int | None) -> list[HeldDefect]:
        """The same of those held here."""
        return sorted(self.held or (), key=defect_place)[:limit]


def as_counts(rows: Iterable[tuple[int, str, int]]) -> Counts:
    """Slots, kinds and numbers, which may come in several pieces, added up."""
    counts: Counts = {}
    for slot, kind, number in rows:
        of_slot = counts.setdefault(slot, {})
        of_slot[DefectKind(kind)] = of_slot.get(DefectKind(kind), 0) + number
    return counts


def count(defects: NamedDefects, jobs: Jobs) -> Counts:
    """How many there are of each kind, by slot; a job unless they are held here."""
    if defects.held is not None:
        return as_counts((row["slot"], row["kind"], 1) for row in defects.held)
    rows = jobs.rows(defects.counted())
    return as_counts((row["slot"], row["kind"], row["count"]) for row in rows)


def _without(defects: "DataFrame", undecidable: Mapping[int, frozenset[DefectKind]]) -> "DataFrame":
    """The defects that nothing unread could explain."""
    for slot, kinds in undecidable.items():
        for kind in sorted(kinds):
            defects = defects.where(f"NOT (slot = {slot} AND kind = '{kind.value}')")
    return defects


def defect_place(row: HeldDefect) -> tuple[object, ...]:
    """Spark's order: NULL comes first."""
    keys = [[(text is not None, text or "") for text in row[name]] for name in _ORDER[2:]]
    return (row["slot"], row["kind"], *keys)
