# SPDX-License-Identifier: Apache-2.0
"""What is looked at beside the entries of pairs: bad pairs, the order of keys, keys there twice."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from checks.columns.sifting import ROWS_MAX
from checks.failures import failures, reason_for
from checks.findings import SlotFindings
from checks.jobs import Jobs
from checks.pairs.copies import FramedCopies, copies_among, twice, twice_in_parts
from checks.pairs.entries import SparkPairs
from checks.pairs.held_copies import HeldCopies
from checks.pairs.judging import PairJudging
from checks.pairs.native import NativePairs
from checks.pairs.plan import stamp_of
from checks.pairs.scan import PairSpec
from checks.pairs.table import PairTable
from checks.parts import Part
from checks.registry import PHYSICAL
from checks.riding import Reports
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.work import Work
from scrub.model.defect import Defect, DefectKind

_COPIES = frozenset({DefectKind.DUPLICATE_ENTRY, DefectKind.DUPLICATE_KEY})
_ALL = 1 << 62

Copies = HeldCopies | FramedCopies
DifferingRows = DataFrame | frozenset[bytes] | None
"""Rows that are there more than once with different values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsBeside:
    """One look, after the pairs of a table were scanned."""

    table: PairTable
    spec: PairSpec
    read: Callable[[Sequence[Part], PairSpec], NativePairs | SparkPairs]
    jobs: Jobs
    state: ScanState
    parts: Sequence[Part]  # those that can be read
    judging: PairJudging
    is_physical: bool  # whether bad pairs are asked for

    def look(self, shown: ShownDefects, indexes: Mapping[str, SlotFindings]) -> DifferingRows:
        """Count and show what is wrong; returns rows that are there twice with other values."""
        self.judging.add_up(self._reports)
        on_order = self._reports_on_order(shown.wanted)
        if self.is_physical:
            try:
                shown.add(self._bad_pairs(shown))
                pairs = (pair for report in on_order for pair in report["shown"])
                shown.add(map(self.judging.words.of_pair, pairs))
            except failures() as error:
                reason = reason_for(error, self.judging.redact)
                note = f"not every defect could be named: {reason}"
                self.judging.of_table.notes.append(note)
        return self._look_for_copies(shown, indexes)

    @property
    def _reports(self) -> Reports:
        return self.state.reports_of(PHYSICAL.name)

    def _bad_pairs(self, shown: ShownDefects) -> Iterator[Defect]:
        """Those that the scan has shown; parts whose bad pairs it has not are read again."""
        reports, of_pair = self._reports, self.judging.words.of_pair
        again = {
            part.number: part
            for part in self.parts
            if reports.get(part.number, {}).get("counts")
            and (shown.wanted is None or part.number in self.state.resumed)
        }
        for number, report in reports.items():
            if number not in again:
                yield from map(of_pair, report["shown"])
        if again and shown.wanted != 0:
            work = self._read_again(list(again.values()), shown.wanted)
            for row in self.jobs.few_or_each(work):
                yield of_pair(json.loads(row["shown"]))

    def _read_again(self, parts: Sequence[Part], wanted: int | None) -> Work | DataFrame:
        spec = replace(self.spec, limit=_ALL if wanted is None else wanted)
        return self.read(parts, spec).bad_pairs()

    def _reports_on_order(self, wanted: int | None) -> list[Mapping[str, Any]]:
        """Where Spark brings the pairs of rows together, tasks open the files for their order."""
        splits = self.table.splits
        if self.table.is_native or not self.table.looks_at_order or not splits:
            return []
        spec = replace(self.spec, limit=_ALL if wanted is None else self.spec.limit)
        reports = []
        job = NativePairs(self.jobs.cores, self.table, splits, spec).order()
        for row in self.jobs.arrow(job).to_pylist():
            report = json.loads(row["report"])
            if "error" in report:  # Spark read it, so this says nothing about its pairs
                name = splits[row["chunk"]].split.name
                self.judging.of_table.notes.append(
                    f"the order of keys was not checked in {name}: {report['error']}"
                )
            else:
                reports.append(report["riding"][PHYSICAL.name])
                self.judging.add_bad(reports[-1])
        return reports

    def _look_for_copies(
        self, shown: ShownDefects, indexes: Mapping[str, SlotFindings]
    ) -> DifferingRows:
        """Keys that are there more than once, in relations that keep no versions."""
        copies = self._copies()
        if copies is None:
            return None
        layout = self.judging.words.layout
        primary = layout.primary(0)
        if not self.is_physical:
            asked_for = [primary, *(layout.secondary(0, name) for name in self.table.indexes)]
            copies = copies.of_indexes(asked_for)
        with copies.kept() as kept:
            rows = kept.counted()
            differing = self.judging.add_copies(rows, indexes, physical=self.is_physical)
            if rows:
                # They are counted here; only rows under two spellings of a key are left to a join.
                self.judging.unread.counted_elsewhere = _COPIES
                told = kept if self.judging.counts_rows else kept.without(primary)
                if shown.wanted != 0:
                    first = told.first(primary, shown.wanted)
                    shown.add(map(self.judging.words.of_copies, first))
            return kept.rows_that_differ(primary) if differing else None

    def _copies(self) -> Copies | None:
        """None if there are surely none."""
        if not self.parts or any(stamp_of(of.facts) for of in self.table.relations):
            return None
        reader = self.read(self.parts, self.spec)
        if isinstance(reader, SparkPairs):
            return FramedCopies(copies_among(reader.pairs(), self.spec), self.jobs)
        job = reader.key_digests()
        many = self.judging.pairs > ROWS_MAX
        digests = twice(self.jobs.arrow(twice_in_parts(self.jobs.frame(job)) if many else job))
        if not len(digests):
            return None
        pairs = reader.pairs_of(digests)
        if (held := self.jobs.held(pairs)) is not None:
            return HeldCopies.among(held, self.spec)
        return FramedCopies(copies_among(self.jobs.frame(pairs), self.spec), self.jobs)
