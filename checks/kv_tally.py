# SPDX-License-Identifier: Apache-2.0
"""What tasks report of single pairs, added up by the driver."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from checks.kv_copies import as_counts_of_copies
from checks.kv_defects import KINDS, KvDefects
from checks.kv_findings import KvFindings
from checks.kv_unread import UnreadPairs
from scrub.model.defect import DefectKind


@dataclass(slots=True)
class PairTally:
    """Puts reports into the findings of a run, and into what is known not to be known."""

    found: KvFindings
    unread: UnreadPairs
    words: KvDefects
    limit: int

    @property
    def room(self) -> int:
        """How many more defects are to be shown."""
        return max(self.limit - len(self.found.defects), 0)

    def take_report(self, number: int, report: Mapping[str, Any]) -> None:
        """A report on the pairs of a split, or of a task of Spark's."""
        if "error" in report:
            self.unread.splits[number] = (self.unread.plan.splits[number], report["error"])
            return
        self.found.pairs += report["pairs"]
        self.found.bytes_read += report["bytes"]
        self.unread.rows = self.unread.rows or report["lost"]
        names = self.words.layout.names
        for index, count in report["unread"]:
            if (name := names[index]) is not None:
                self.unread.entries[name] += count
        for index, count in report["doubtful"]:
            self.unread.doubtful[names[index] or ""] += count
        self._take_bad_pairs(report)

    def take_order(self, number: int, report: Mapping[str, Any]) -> None:
        """A report on nothing but the order of a split's keys."""
        if "error" in report:  # Spark read it, so this says nothing about its pairs
            name = self.unread.plan.splits[number].split.name
            self.found.physical.notes.append(
                f"the order of keys was not looked at in {name}: {report['error']}"
            )
        else:
            self._take_bad_pairs(report)

    def _take_bad_pairs(self, report: Mapping[str, Any]) -> None:
        counts = self.found.physical.counts
        for verdict, _, count in report["counts"]:
            counts[KINDS[verdict]] = counts.get(KINDS[verdict], 0) + count
        shown = report["shown"][: self.room]
        self.found.defects += [self.words.of_pair(pair) for pair in shown]

    def take_copies(self, rows: Iterable[Any], physical: bool) -> int:
        """Count the keys that are there twice; how many rows are, with different values.

        Such a row proves nothing, to no index.
        """
        layout, listed = self.words.layout, list(rows)
        primary = layout.primary(0)
        for index, count in as_counts_of_copies(listed, primary).items():
            kind = DefectKind.DUPLICATE_KEY if index == primary else DefectKind.DUPLICATE_ENTRY
            counts = self.found.place_of(kind, layout.names[index], physical).counts
            counts[kind] = counts.get(kind, 0) + count
        differing: int = sum(row["differing"] for row in listed if row["index"] == primary)
        for name in self.found.indexes:
            self.unread.doubtful[name] += differing
        return differing
