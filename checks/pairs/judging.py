# SPDX-License-Identifier: Apache-2.0
"""The physical check of pairs, which rides in every scan of them: what tasks report, added up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from checks.failures import Failure, reason_for
from checks.findings import SlotFindings
from checks.numbering import Relation
from checks.pairs.copies import as_counts_of_copies
from checks.pairs.defects import KINDS, PairDefects
from checks.pairs.unread import UnreadPairs
from checks.parts import Part
from checks.riding import Reports
from scrub.model.defect import Defect, DefectKind


@dataclass(slots=True, kw_only=True)
class PairJudging:
    """Puts reports into the findings of a run, and into what is known not to be known."""

    words: PairDefects
    unread: UnreadPairs
    relations: tuple[Relation, ...]
    redact: bool
    is_needed: bool = True  # whether the physical check or an index is asked for
    counts_rows: bool = True  # whether rows that are there twice are no constraint's to count
    pairs: int = 0
    failure: str | None = None  # why nothing that was counted can be relied on
    of_table: SlotFindings = field(default_factory=SlotFindings)

    @property
    def found(self) -> Mapping[str, SlotFindings]:
        return {self.words.table.table.name: self.of_table}

    def wants(self, part: Part) -> bool:  # noqa: ARG002
        """Every pair is judged, whichever of the two checks is made."""
        return self.is_needed and not self.gave_up

    def give_up(self, parts: Sequence[Part], error: Failure) -> None:  # noqa: ARG002
        self.failure = reason_for(error, self.redact)

    @property
    def gave_up(self) -> bool:
        return self.failure is not None

    def kept(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """Numbers only: the pairs to be shown are values of the data."""
        return {**report, "shown": []}

    def add_up(self, reports: Reports) -> None:
        """Take in what tasks reported on all parts."""
        names = self.words.layout.names
        for report in reports.values():
            self.pairs += report["pairs"]
            self.unread.rows = self.unread.rows or bool(report["lost"])
            for index, count in report["unread"]:
                if (name := names[index]) is not None:
                    self.unread.entries[name] += count
            for index, count in report["doubtful"]:
                self.unread.doubtful[names[index] or ""] += count
            self.add_bad(report)

    def add_bad(self, report: Mapping[str, Any]) -> None:
        """Count the pairs that are wrong by themselves."""
        counts = self.of_table.counts
        for verdict, _, count in report["counts"]:
            counts[KINDS[verdict]] = counts.get(KINDS[verdict], 0) + count

    def add_copies(
        self, rows: Iterable[Any], indexes: Mapping[str, SlotFindings], *, physical: bool
    ) -> int:
        """Count the keys that are there twice; returns how many rows are, with different values.

        Such a row proves nothing, to no index.
        """
        layout, listed = self.words.layout, list(rows)
        primary = layout.primary(0)
        for index, count in as_counts_of_copies(listed, primary).items():
            if index == primary and not self.counts_rows:
                continue
            kind = DefectKind.DUPLICATE_KEY if index == primary else DefectKind.DUPLICATE_ENTRY
            counts = self._place_of(kind, layout.names[index], indexes, physical).counts
            counts[kind] = counts.get(kind, 0) + count
        differing: int = sum(row["differing"] for row in listed if row["index"] == primary)
        for name in indexes:
            self.unread.doubtful[name] += differing
        return differing

    def _place_of(
        self,
        kind: DefectKind,
        index: str | None,
        indexes: Mapping[str, SlotFindings],
        physical: bool,
    ) -> SlotFindings:
        """Where a key that is there twice counts: an entry in its index, a row in the table.

        What is not asked for counts in what is.
        """
        if kind is DefectKind.DUPLICATE_ENTRY and index is not None and index in indexes:
            return indexes[index]
        return self.of_table if physical or not indexes else next(iter(indexes.values()))

    def conclude(self, reports: Reports) -> None:  # noqa: ARG002
        if self.failure is not None:
            self.of_table.incomplete = self.failure
            return
        self.of_table.rows = self.pairs
        self.of_table.incomplete = self.unread.reason_of_physical(self.relations)

    def defects(self, reports: Reports, limit: int | None) -> Iterator[Defect]:  # noqa: ARG002
        """Nothing more: bad pairs were shown before entries were compared."""
        return iter(())
