# SPDX-License-Identifier: Apache-2.0
"""Defects that a join has named: counted first, then shown in order, as many as are wanted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row

from checks.jobs import Jobs
from scrub.model.defect import DefectKind

Counts = dict[int, dict[DefectKind, int]]  # by slot

_ORDER = ("slot", "kind", "primary_key", "index_key")


@dataclass(frozen=True, slots=True)
class NamedDefects:
    """A frame of defects; where they are known to be few, they are held here as well.

    Each question to a frame is a job of its own, which takes longer than the few rows need.
    """

    frame: DataFrame
    held: tuple[Row, ...] | None = None

    def decided(self, undecidable: Mapping[int, frozenset[DefectKind]]) -> "NamedDefects":
        """Those that nothing unread could explain."""
        held = self.held
        if held is not None:
            held = tuple(r for r in held if DefectKind(r["kind"]) not in undecidable[r["slot"]])
        return NamedDefects(_without(self.frame, undecidable), held)

    def counted(self) -> DataFrame:
        """How many there are of each kind in each slot."""
        return self.frame.groupBy("slot", "kind").count()

    def in_order(self, limit: int | None) -> DataFrame:
        ordered = self.frame.orderBy(*_ORDER)
        return ordered if limit is None else ordered.limit(limit)

    def held_in_order(self, limit: int | None) -> list[Row]:
        """The same of those held here."""
        return sorted(self.held or (), key=_place)[:limit]


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


def _without(defects: DataFrame, undecidable: Mapping[int, frozenset[DefectKind]]) -> DataFrame:
    """The defects that nothing unread could explain."""
    for slot, kinds in undecidable.items():
        for kind in sorted(kinds):
            defects = defects.where(f"NOT (slot = {slot} AND kind = '{kind.value}')")
    return defects


def _place(row: Row) -> tuple[object, ...]:
    """Spark's order: NULL comes first."""
    keys = [[(text is not None, text or "") for text in row[name]] for name in _ORDER[2:]]
    return (row["slot"], row["kind"], *keys)
