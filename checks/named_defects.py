# SPDX-License-Identifier: Apache-2.0
"""Defects that a join has named: counted first, then shown in order, as many as are wanted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row

from checks.naming import without
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

    def counts(self) -> Counts:
        counts: Counts = {}
        if self.held is None:
            for row in self.frame.groupBy("slot", "kind").count().collect():
                counts.setdefault(row["slot"], {})[DefectKind(row["kind"])] = row["count"]
            return counts
        for row in self.held:
            of_slot = counts.setdefault(row["slot"], {})
            kind = DefectKind(row["kind"])
            of_slot[kind] = of_slot.get(kind, 0) + 1
        return counts

    def decided(self, undecidable: Mapping[int, frozenset[DefectKind]]) -> "NamedDefects":
        """Those that nothing unread could explain."""
        held = self.held
        if held is not None:
            held = tuple(r for r in held if DefectKind(r["kind"]) not in undecidable[r["slot"]])
        return NamedDefects(without(self.frame, undecidable), held)

    def in_order(self, limit: int | None = None) -> Iterator[Row]:
        if self.held is not None:
            yield from sorted(self.held, key=_place)[:limit]
        elif limit is None:
            yield from self.frame.orderBy(*_ORDER).toLocalIterator()
        else:
            yield from self.frame.orderBy(*_ORDER).limit(limit).collect()


def _place(row: Row) -> tuple[object, ...]:
    """Spark's order: NULL comes first."""
    keys = [[(text is not None, text or "") for text in row[name]] for name in _ORDER[2:]]
    return (row["slot"], row["kind"], *keys)
