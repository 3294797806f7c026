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

from collections.abc import Callable, Iterable
from typing import TypeVar

from checks.own_indexes.defects import Found, OwnIndexDefects
from checks.own_indexes.findings import OwnIndexFindings
from checks.own_indexes.lockstep import WrongEntry, hidden_entries, kinds_of_row, wrong_entries
from checks.own_indexes.remedies import of_defects
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import ReadingRefused, Way
from scrub.stores.postgres.own_indexes.reader import Imbalance, OwnIndexReader, RowPointers
from scrub.stores.postgres.own_indexes.readings import Totals

WRONG_MAX = 1_000_000
"""Wrong entries and rows that are kept in mind; an index with more is beyond being described."""

LED_TO = "an entry leads to the row, but a search for its key does not find it"

T = TypeVar("T")


class LeafCheck:
    """One index that holds entries itself; what it finds is added to the findings."""

    def __init__(
        self,
        reader: OwnIndexReader,
        naming: OwnIndexDefects,
        findings: OwnIndexFindings,
        limit: int,
    ) -> None:
        self.reader, self.naming, self.findings, self.limit = reader, naming, findings, limit
        self.native = reader.index
        self.named: list[Found] = []
        self.wrong: dict[str, tuple[int, int]] = {}  # row: entries of other keys, its own digest
        self.seen: dict[int, int] = {}  # digest: dangling entries that were seen
        self.spare: dict[
            int, int
        ] = {}  # digest: entries that lead to rows, less those that are due
        self.lacking: dict[int, str] = {}  # digest: a row to which no entry leads
        self.missing: set[str] = set()  # rows that were reported as such

    def run(self) -> None:
        """Read, compare, and name what differs."""
        if self.findings.find_unusable(self.native) or self.findings.find_hidden(self.native):
            return
        unstable = self._try(self.reader.disregard_unstable) or ()
        if self.findings.find_unstable(self.native, unstable):
            return
        before = dict(self.findings.counts)
        self._look()
        counts = self.findings.counts.items()
        kinds = {kind for kind, number in counts if number > before.get(kind, 0)}
        if kinds:
            self.findings.advise(of_defects(self.native, kinds))

    def _look(self) -> None:
        entries = self._entries()
        rows = self._try(lambda: self.reader.totals(Way.ROWS))
        imbalance = self._imbalance(entries, rows)
        pointers = self._try(lambda: self.reader.totals(Way.POINTERS))
        self._count(rows, entries or pointers)
        hidden = self._compare_entries(entries, pointers)
        if pointers is not None and rows is not None:
            self._compare_rows(pointers, rows)
        self._name_hidden(hidden, imbalance)
        self._look_at_order(entries, pointers)
        if pointers is not None and rows is not None:
            self._search(pointers, rows)
        self._look_for_clashes(pointers, rows)
        self._name()

    def _entries(self) -> Totals | None:
        """The index's own entries, read before anything follows them to their rows."""
        native = self.native
        if self._tells_keys:
            self.findings.find_unheld(native, self.reader.unheld, self.reader.unreadable)
        if self.reader.unreadable:
            return None
        found = self._try(lambda: self.reader.totals(Way.ENTRIES))
        if found is not None and native.pages_visible < native.pages:
            self.findings.note(
                "entries that point to no row are seen only on pages whose rows are visible to "
                f"everyone: {native.pages_visible} of {native.pages} pages of "
                f"{native.table_name} at its last VACUUM"
            )
        return found

    def _imbalance(
        self, entries: Totals | None, rows: Totals | None
    ) -> dict[int, Imbalance] | None:
        """What entries and rows do not have in common; None if that is too much, or unknown."""
        if entries is None or rows is None:
            return None
        if (entries.count, entries.contents) == (rows.count, rows.contents):
            return {}
        return self._try(lambda: self.reader.imbalance(WRONG_MAX))

    def _compare_entries(self, entries: Totals | None, pointers: Totals | None) -> int:
        """Compare entries with the rows they lead to; return how many can be seen no more."""
        if entries is None or pointers is None or _in_step(entries, pointers):
            return 0
        # Of entries that point to no row, those that were followed are marked by now.
        left = self._try(lambda: self.reader.totals(Way.ENTRIES))
        if left is None:
            return 0
        if not entries.count >= left.count >= pointers.count:
            self.findings.lacks(f"readings of {self.native.name} differ in their entries")
            return 0
        if not _in_step(left, pointers):
            self._try(lambda: self._walk_in_step(left.count - pointers.count))
        self._add(DefectKind.DANGLING, entries.count - left.count)
        return entries.count - left.count

    def _walk_in_step(self, rowless: int) -> None:
        surplus = self.reader.surplus(WRONG_MAX) if rowless else {}
        if surplus is None:
            self._add(DefectKind.DANGLING, rowless)
            self.findings.lacks(f"{rowless} entries that point to no row are too many to be named")
            return
        self.naming.unheld = frozenset(column.name for column in self.reader.unheld)
        entries, pointers = self.reader.entries(), self.reader.pointers()
        for found in wrong_entries(entries, pointers, surplus, rowless):
            row = found.leads_to.row if found.leads_to else None
            kind = DefectKind.DANGLING
            if found.has_same_key:
                kind = DefectKind.WRONG_STORED_VALUE
            else:
                self._keep_in_mind(found)
            self._report(Found(kind=kind, row=row, entry=found.entry.texts))
        if rowless and self.wrong:
            self.findings.note(
                f"{self.native.name} has entries that point to no row and others that point to "
                "wrong rows; which are which, and how many, is one explanation of several"
            )

    def _keep_in_mind(self, found: WrongEntry) -> None:
        if max(len(self.wrong), len(self.seen)) >= WRONG_MAX:
            self.findings.lacks(
                f"more than {WRONG_MAX} entries are wrong; not every row that lacks its own was "
                "counted"
            )
            return
        self.seen[found.entry.digest] = self.seen.get(found.entry.digest, 0) + 1
        if (pointer := found.leads_to) is not None:
            count, _ = self.wrong.get(pointer.row, (0, 0))
            self.wrong[pointer.row] = (count + 1, pointer.digest)

    def _compare_rows(self, pointers: Totals, rows: Totals) -> None:
        """Rows to which no entry leads, or more than one; entries with other keys do not count."""
        left = dict(self.wrong)
        if (pointers.count, pointers.rows) != (rows.count, rows.rows):
            self._try(lambda: self._judge(self.reader.rows_not_once(), left))
        others = [RowPointers(row, True, 1, digest) for row, (_, digest) in left.items()]
        self._judge(others, left)

    def _judge(self, found: Iterable[RowPointers], wrong: dict[str, tuple[int, int]]) -> None:
        for row in found:
            count, _ = wrong.pop(row.row, (0, 0))
            kinds = kinds_of_row(row, count)
            for kind in kinds:
                self._report(Found(kind=kind, row=row.row))
            if len(self.spare) < WRONG_MAX:
                spare = row.pointers - count - row.is_due
                self.spare[row.digest] = self.spare.get(row.digest, 0) + spare
                if DefectKind.MISSING in kinds:
                    self.lacking[row.digest] = row.row
                    self.missing.add(row.row)

    def _name_hidden(self, hidden: int, imbalance: dict[int, Imbalance] | None) -> None:
        """Entries that were counted before they were marked."""
        if not hidden or self._left <= 0:
            return
        if imbalance is None:
            self.findings.note(f"{hidden} entries that point to no row could not be named")
            return
        for digest in hidden_entries(imbalance, self.spare, self.seen):
            texts = imbalance[digest].texts if digest in imbalance else None
            alike = self.lacking[digest] if texts is None else None
            self._keep(Found(kind=DefectKind.DANGLING, entry=texts, alike=alike))

    def _look_at_order(self, entries: Totals | None, pointers: Totals | None) -> None:
        if self._unheld_keys:  # then it is seen through the rows
            entries = None
        totals = entries or pointers
        if totals is None or not totals.out_of_order:
            return
        self._add(DefectKind.KEY_ORDER, totals.out_of_order)
        if self._left <= 0:
            return
        # The rows that entries lead to tell their primary keys, as long as they are the same.
        same = pointers is not None and (entries is None or _in_step(entries, pointers))
        way = Way.POINTERS if same else Way.ENTRIES
        for found in self._try(lambda: self.reader.misplaced(way, self._left)) or ():
            kind = DefectKind.KEY_ORDER
            own = None if self._unheld_keys and found.row else found.texts
            self._keep(Found(kind=kind, row=found.row, entry=own, before=found.before))

    @property
    def _tells_keys(self) -> bool:
        """Whether what rows give as keys is certain."""
        return self.reader.readings.tells_keys(Way.ROWS)

    @property
    def _unheld_keys(self) -> int:
        """How many keys a search must ask for, so that all are compared that no entry gave."""
        unheld = self.reader.unheld
        return max((n for n, key in enumerate(self.native.keys, 1) if key in unheld), default=0)

    def _search(self, pointers: Totals, rows: Totals) -> None:
        """Search for each row by what it gives: for another value the index leads elsewhere."""
        keys = self._unheld_keys
        if not keys or not self._tells_keys:
            return
        if pointers.out_of_order:
            self.findings.lacks(
                f"{self.native.name} is out of order, so no row was searched for; whether it holds "
                "the right values is not known"
            )
            return
        self._try(lambda: self._report_not_found(keys, rows))

    def _report_not_found(self, keys: int, rows: Totals) -> None:
        for row in self.reader.rows_not_found(keys, rows):
            if row not in self.missing:
                self._report(Found(kind=DefectKind.MISSING, row=row, how=LED_TO))

    def _look_for_clashes(self, pointers: Totals | None, rows: Totals | None) -> None:
        """Equal keys are neighbours in a sound index; in another one the rows must be sorted."""
        if not self.native.is_unique or rows is None or not self._tells_keys:
            return
        is_sound = pointers is not None and not (pointers.repeated or pointers.out_of_order)
        if is_sound and not any(self.findings.counts.values()):
            return
        if all(key.order is not None and key.order.is_orderable for key in self.native.keys):
            self._try(lambda: self._report_clashes(Way.ROWS))
        elif pointers is not None and not pointers.out_of_order:
            way = Way.POINTERS if self.reader.readings.can_ask_for(Way.POINTERS, 0) else Way.ENTRIES
            self._try(lambda: self._report_clashes(way))
            if DefectKind.MISSING in self.findings.counts:
                self.findings.lacks("rows without an entry were not searched for unique keys")
        else:
            self.findings.lacks(
                f"{self.native.name} is out of order, so unique keys were not compared"
            )

    def _report_clashes(self, way: Way) -> None:
        for row, texts in self.reader.clashing(way):
            due = None if row else texts
            self._report(Found(kind=DefectKind.UNIQUE_VIOLATION, row=row, due=due))

    def _try(self, look: Callable[[], T]) -> T | None:
        """What a reading gives; if there is none, the check is incomplete and says why."""
        try:
            return look()
        except ReadingRefused as refused:
            self.findings.lacks(f"{self.native.name} could not be read: {refused}")
            return None

    def _count(self, rows: Totals | None, entries: Totals | None) -> None:
        findings = self.findings
        if rows is not None:
            findings.rows = (findings.rows or 0) + rows.count
        if entries is not None:
            findings.entries = (findings.entries or 0) + entries.count

    @property
    def _left(self) -> int:
        return self.limit - len(self.findings.defects) - len(self.named)

    def _report(self, found: Found) -> None:
        self._add(found.kind, 1)
        self._keep(found)

    def _add(self, kind: DefectKind, count: int) -> None:
        if count:
            self.findings.counts[kind] = self.findings.counts.get(kind, 0) + count

    def _keep(self, found: Found) -> None:
        if self._left > 0:
            self.named.append(found)

    def _name(self) -> None:
        """Put the values of their rows to what was found."""
        named, self.named = self.named, []
        places = sorted({row for found in named for row in (found.row, found.alike) if row})
        primary_key = self.naming.table.primary_key
        values = self._try(lambda: self.reader.values(places, primary_key)) if places else None
        for found in named:
            self.findings.defects.append(self.naming.defect(found, values or {}))


def _in_step(entries: Totals, pointers: Totals) -> bool:
    """Whether entries and the rows they lead to have the same contents at the same positions."""
    return (entries.count, entries.positions) == (pointers.count, pointers.positions)
