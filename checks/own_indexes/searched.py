# SPDX-License-Identifier: Apache-2.0
"""The check of a B-tree whose order no query can ask for, since another class has its operators.

Its entries can be read, and judged by the comparison of its own class; but no plan follows all of
them to their rows. So entries are compared with rows by what they hold, and each row is searched
for by its key: together this tells as much.
"""

from itertools import islice

from checks.own_indexes.contents import ContentsCheck
from checks.own_indexes.defects import Found
from checks.own_indexes.leaf import WRONG_MAX
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.readings import Totals

NOT_FOUND = "a search for its key does not find the row"


class SearchedCheck(ContentsCheck):
    """One index that holds entries itself, compared by contents and by searches."""

    def _look(self) -> None:
        self.way = Way.ENTRIES
        entries = self._entries()
        rows = self._try(lambda: self.reader.totals(Way.ROWS))
        self._count(rows, entries)
        self._demand_keys(entries)
        if rows is not None:
            self._compare_with_rows(entries, rows)
        self._look_at_order(entries, None)
        self._look_for_clashes(entries, rows)
        self._name()

    def _demand_keys(self, entries: Totals | None) -> None:
        """Without its keys, the order of an index is not known."""
        if entries is None or not self.reader.readings.tells_keys(Way.ENTRIES):
            reason = self.reader.unreadable or "its keys cannot be read from it"
            self.findings.lacks(
                f"whether {self.native.name} is in order could not be seen: {reason}"
            )

    def _compare_with_rows(self, entries: Totals | None, rows: Totals) -> None:
        missing = self._rows_not_found(entries, rows)
        if entries is not None and not self.reader.unheld:
            self._compare(entries, rows, are_missing_known=missing is not None)
        for row in missing or ():
            self._report(Found(kind=DefectKind.MISSING, row=row, how=NOT_FOUND))

    def _rows_not_found(self, entries: Totals | None, rows: Totals) -> list[str] | None:
        if not self._tells_keys:
            return None
        if entries is not None and entries.out_of_order:
            self.findings.lacks(
                f"{self.native.name} is out of order, so no row was searched for; whether its "
                "entries lead to the right rows is not known"
            )
            return None
        found = self.reader.rows_not_found(len(self.native.keys), rows)
        return self._try(lambda: list(islice(found, WRONG_MAX)))
