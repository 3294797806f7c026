# SPDX-License-Identifier: Apache-2.0
"""What the check of one B-tree reports: counts, defects up to a limit, and what was not seen."""

from collections.abc import Callable
from typing import TypeVar

from checks.own_indexes.defects import Found, OwnIndexDefects
from checks.own_indexes.findings import OwnIndexFindings, remedy_of
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import ReadingRefused
from scrub.stores.postgres.own_indexes.reader import OwnIndexReader
from scrub.stores.postgres.own_indexes.readings import Totals

T = TypeVar("T")


class LeafReport:
    """One index that holds entries itself; what is found is added to the findings."""

    def __init__(
        self,
        reader: OwnIndexReader,
        naming: OwnIndexDefects,
        findings: OwnIndexFindings,
        limit: int,
    ) -> None:
        self.reader, self.naming, self.findings, self._limit = reader, naming, findings, limit
        self.native = reader.index
        self._named: list[Found] = []

    def make(self, look: Callable[["LeafReport"], None]) -> None:
        """Look, if there is anything to be seen, and say what to do about it."""
        if self.findings.find_unusable(self.native) or self.findings.find_hidden(self.native):
            return
        unstable = self.attempt(self.reader.disregard_unstable) or ()
        if self.findings.find_unstable(self.native, unstable):
            return
        before = dict(self.findings.counts)
        look(self)
        counts = self.findings.counts.items()
        kinds = {kind for kind, number in counts if number > before.get(kind, 0)}
        if kinds:
            self.findings.advise(remedy_of(self.native, kinds))

    def attempt(self, look: Callable[[], T]) -> T | None:
        """What a reading gives; if there is none, the check is incomplete and says why."""
        try:
            return look()
        except ReadingRefused as refused:
            self.findings.lacks(f"{self.native.name} could not be read: {refused}")
            return None

    def count(self, rows: Totals | None, entries: Totals | None) -> None:
        """How many rows and entries were looked at."""
        findings = self.findings
        if rows is not None:
            findings.rows = (findings.rows or 0) + rows.count
        if entries is not None:
            findings.entries = (findings.entries or 0) + entries.count

    @property
    def left(self) -> int:
        """How many more defects may be named."""
        return self._limit - len(self.findings.defects) - len(self._named)

    def add(self, kind: DefectKind, count: int = 1) -> None:
        """Count defects without naming them."""
        if count:
            self.findings.counts[kind] = self.findings.counts.get(kind, 0) + count

    def keep(self, found: Found) -> None:
        """Name a defect that was counted."""
        if self.left > 0:
            self._named.append(found)

    def tell(self, found: Found) -> None:
        """Count a defect, and name it."""
        self.add(found.kind)
        self.keep(found)

    def name(self) -> None:
        """Put the values of their rows to what was found."""
        named, self._named = self._named, []
        places = sorted({row for found in named for row in (found.row, found.alike) if row})
        primary_key = self.naming.table.primary_key
        values = self.attempt(lambda: self.reader.values(places, primary_key)) if places else None
        for found in named:
            self.findings.defects.append(self.naming.defect(found, values or {}))
