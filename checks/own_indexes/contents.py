# SPDX-License-Identifier: Apache-2.0
"""The check of a B-tree by a role that may read its columns, but not the whole table.

Where rows lie is told only to those who may read the whole table. Without it, entries can still be
compared with rows by what they hold, and their order and unique keys be judged; but not whether an
entry leads to the row that gives it. So such a check finds defects, and is never clean.
"""

from dataclasses import replace

from checks.own_indexes.defects import Found
from checks.own_indexes.leaf import WRONG_MAX, LeafCheck
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.reader import Contents
from scrub.stores.postgres.own_indexes.readings import Totals


class ContentsCheck(LeafCheck):
    """One index that holds entries itself, compared by contents only."""

    def _look(self) -> None:
        self.way = Way.POINTERS if self.reader.unheld else Way.ENTRIES
        entries = self._entries()
        if self.reader.unheld:
            entries = self._try(lambda: self.reader.totals(Way.POINTERS))
        rows = self._try(lambda: self.reader.totals(Way.ROWS))
        self._count(rows, entries)
        if entries is not None and rows is not None:
            self._compare(entries, rows)
        self._look_at_order(*((None, entries) if self.reader.unheld else (entries, None)))
        self._look_for_clashes(entries, rows)
        self._name()
        self.findings.lacks(
            f"whether entries of {self.native.name} lead to the right rows is not seen by a role "
            f"that may read only some columns; {self.native.grant}"
        )

    def _compare(self, entries: Totals, rows: Totals, *, are_missing_known: bool = False) -> None:
        """Name what only one side has; rows without entry, unless they are known otherwise."""
        if (entries.count, entries.contents) == (rows.count, rows.contents):
            return
        found = self._try(lambda: self.reader.differing_contents(self.way, WRONG_MAX))
        if found is None:
            more = entries.count - rows.count
            if more > 0 or not are_missing_known:
                self._add(DefectKind.DANGLING if more > 0 else DefectKind.MISSING, abs(more))
            self.findings.lacks(f"too much differs in {self.native.name} to be named")
            return
        held, given = found
        extra, lacking = _less(held, given), _less(given, held)
        self._report_same_keys(extra, lacking)
        for digest, content in extra.items():
            kind = DefectKind.DUPLICATE_ENTRY if digest in given else DefectKind.DANGLING
            for _ in range(content.copies):
                self._report(Found(kind=kind, entry=content.texts))
        for content in () if are_missing_known else lacking.values():
            for _ in range(content.copies):
                self._report(Found(kind=DefectKind.MISSING, due=content.texts))

    def _report_same_keys(self, extra: Contents, lacking: Contents) -> None:
        """Where an entry too many has the key of one that is lacking, what it stores is wrong."""
        if len(self.native.keys) == len(self.native.columns):
            return
        by_key = {one.key_digest: digest for digest, one in lacking.items() if one.copies == 1}
        for digest, content in list(extra.items()):
            other = by_key.pop(content.key_digest, None) if content.copies == 1 else None
            if other is not None:
                due = lacking.pop(other).texts
                del extra[digest]
                kind = DefectKind.WRONG_STORED_VALUE
                self._report(Found(kind=kind, entry=content.texts, due=due))


def _less(one: Contents, other: Contents) -> Contents:
    """What one side has more of, and how many more."""
    return {
        digest: replace(content, copies=more)
        for digest, content in one.items()
        if (more := content.copies - (other[digest].copies if digest in other else 0)) > 0
    }
