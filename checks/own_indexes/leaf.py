# SPDX-License-Identifier: Apache-2.0
"""The check of one B-tree of the database: its entries, its order, its rows.

In a sound index, what an entry holds is what the row it leads to gives; one entry leads to each
row; entries are in order; and a unique key is there once. The sums of three readings tell whether
all of this holds. Only where it does not is anything fetched.

Values of expressions that no reading of entries gives are compared by searching for each row.

The order of readings matters. Following an entry to a row that is gone for everyone makes the
server mark the entry, and nobody sees it again. So entries are compared with rows before any is
followed. Afterwards a marked entry is known from arithmetic: entries of some contents, less rows of
the same, plus such rows to which no entry leads.
"""

from collections.abc import Iterable

from checks.own_indexes import walks
from checks.own_indexes.defects import Found
from checks.own_indexes.lockstep import WrongEntry, hidden_entries, kinds_of_row, wrong_entries
from checks.own_indexes.report import LeafReport
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.reader import Imbalance, RowPointers
from scrub.stores.postgres.own_indexes.readings import Totals

LED_TO = "an entry leads to the row, but a search for its key does not find it"


def look_at_leaf(report: LeafReport) -> None:
    """Compare entries, the rows they lead to, and the rows of the table."""
    entries, rows = walks.read_entries(report), walks.read_rows(report)
    followed = FollowedEntries(report)
    imbalance = _imbalance(report, entries, rows)
    pointers = report.attempt(lambda: report.reader.totals(Way.POINTERS))
    report.count(rows, entries or pointers)
    hidden = followed.compare_entries(entries, pointers)
    if pointers is not None and rows is not None:
        followed.compare_rows(pointers, rows)
    followed.name_hidden(hidden, imbalance)
    walks.look_at_order(report, entries, pointers)
    if pointers is not None and rows is not None:
        _search(report, pointers, rows, followed.missing)
    walks.look_for_clashes(report, pointers, rows)
    report.name()


def _imbalance(
    report: LeafReport, entries: Totals | None, rows: Totals | None
) -> dict[int, Imbalance] | None:
    """What entries and rows do not have in common; None if that is too much, or unknown."""
    if entries is None or rows is None:
        return None
    if (entries.count, entries.contents) == (rows.count, rows.contents):
        return {}
    return report.attempt(lambda: report.reader.imbalance(walks.WRONG_MAX))


def _search(report: LeafReport, pointers: Totals, rows: Totals, missing: set[str]) -> None:
    """Search for each row by what it gives: for another value the index leads elsewhere."""
    keys = walks.unheld_keys(report)
    if not keys or not walks.tells_keys(report):
        return
    if pointers.out_of_order:
        report.findings.lacks(
            f"{report.native.name} is out of order, so no row was searched for; whether it holds "
            "the right values is not known"
        )
        return

    def tell_not_found() -> None:
        for row in report.reader.rows_not_found(keys, rows):
            if row not in missing:
                report.tell(Found(kind=DefectKind.MISSING, row=row, how=LED_TO))

    report.attempt(tell_not_found)


class FollowedEntries:
    """Entries beside the rows that they lead to, and what is remembered of those that differ."""

    def __init__(self, report: LeafReport) -> None:
        self._report = report
        self._wrong: dict[str, tuple[int, int]] = {}  # row: entries of other keys, its own digest
        self._seen: dict[int, int] = {}  # digest: dangling entries that were seen
        self._spare: dict[int, int] = {}  # digest: entries that lead to rows, less those due
        self._lacking: dict[int, str] = {}  # digest: a row to which no entry leads
        self.missing: set[str] = set()  # rows that were reported as such

    def compare_entries(self, entries: Totals | None, pointers: Totals | None) -> int:
        """Compare entries with the rows they lead to; return how many can be seen no more."""
        if entries is None or pointers is None or walks.in_step(entries, pointers):
            return 0
        report = self._report
        # Of entries that point to no row, those that were followed are marked by now.
        left = report.attempt(lambda: report.reader.totals(Way.ENTRIES))
        if left is None:
            return 0
        if not entries.count >= left.count >= pointers.count:
            report.findings.lacks(f"readings of {report.native.name} differ in their entries")
            return 0
        if not walks.in_step(left, pointers):
            report.attempt(lambda: self._walk_in_step(left.count - pointers.count))
        report.add(DefectKind.DANGLING, entries.count - left.count)
        return entries.count - left.count

    def _walk_in_step(self, rowless: int) -> None:
        report, reader = self._report, self._report.reader
        surplus = reader.surplus(walks.WRONG_MAX) if rowless else {}
        if surplus is None:
            report.add(DefectKind.DANGLING, rowless)
            report.findings.lacks(
                f"{rowless} entries that point to no row are too many to be named"
            )
            return
        report.naming.unheld = frozenset(column.name for column in reader.unheld)
        entries, pointers = reader.entries(), reader.pointers()
        for found in wrong_entries(entries, pointers, surplus, rowless):
            row = found.leads_to.row if found.leads_to else None
            kind = DefectKind.DANGLING
            if found.has_same_key:
                kind = DefectKind.WRONG_STORED_VALUE
            else:
                self._keep_in_mind(found)
            report.tell(Found(kind=kind, row=row, entry=found.entry.texts))
        if rowless and self._wrong:
            report.findings.note(
                f"{report.native.name} has entries that point to no row and others that point to "
                "wrong rows; which are which, and how many, is one explanation of several"
            )

    def _keep_in_mind(self, found: WrongEntry) -> None:
        if max(len(self._wrong), len(self._seen)) >= walks.WRONG_MAX:
            self._report.findings.lacks(
                f"more than {walks.WRONG_MAX} entries are wrong; not every row that lacks its own "
                "was counted"
            )
            return
        self._seen[found.entry.digest] = self._seen.get(found.entry.digest, 0) + 1
        if (pointer := found.leads_to) is not None:
            count, _ = self._wrong.get(pointer.row, (0, 0))
            self._wrong[pointer.row] = (count + 1, pointer.digest)

    def compare_rows(self, pointers: Totals, rows: Totals) -> None:
        """Rows to which no entry leads, or more than one; entries with other keys do not count."""
        left = dict(self._wrong)
        if (pointers.count, pointers.rows) != (rows.count, rows.rows):
            self._report.attempt(lambda: self._judge(self._report.reader.rows_not_once(), left))
        others = [RowPointers(row, True, 1, digest) for row, (_, digest) in left.items()]
        self._judge(others, left)

    def _judge(self, found: Iterable[RowPointers], wrong: dict[str, tuple[int, int]]) -> None:
        for row in found:
            count, _ = wrong.pop(row.row, (0, 0))
            kinds = kinds_of_row(row, count)
            for kind in kinds:
                self._report.tell(Found(kind=kind, row=row.row))
            if len(self._spare) < walks.WRONG_MAX:
                spare = row.pointers - count - row.is_due
                self._spare[row.digest] = self._spare.get(row.digest, 0) + spare
                if DefectKind.MISSING in kinds:
                    self._lacking[row.digest] = row.row
                    self.missing.add(row.row)

    def name_hidden(self, hidden: int, imbalance: dict[int, Imbalance] | None) -> None:
        """Entries that were counted before they were marked."""
        if not hidden or self._report.left <= 0:
            return
        if imbalance is None:
            self._report.findings.note(f"{hidden} entries that point to no row could not be named")
            return
        for digest in hidden_entries(imbalance, self._spare, self._seen):
            texts = imbalance[digest].texts if digest in imbalance else None
            alike = self._lacking[digest] if texts is None else None
            self._report.keep(Found(kind=DefectKind.DANGLING, entry=texts, alike=alike))
