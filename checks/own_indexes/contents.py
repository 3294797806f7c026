# SPDX-License-Identifier: Apache-2.0
"""The check of a B-tree by a role that may read its columns, but not the whole table.

Where rows lie is told only to those who may read the whole table. Without it, entries can still be
compared with rows by what they hold, and their order and unique keys be judged; but not whether an
entry leads to the row that gives it. So such a check finds defects, and is never clean.
"""

from dataclasses import replace

from checks.own_indexes import walks
from checks.own_indexes.defects import Found
from checks.own_indexes.report import LeafReport
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.reader import Contents
from scrub.stores.postgres.own_indexes.readings import Totals


def look_at_contents(report: LeafReport) -> None:
    """Compare entries with rows by contents only."""
    way = Way.POINTERS if report.reader.unheld else Way.ENTRIES
    entries = walks.read_entries(report)
    if way is Way.POINTERS:
        entries = report.attempt(lambda: report.reader.totals(way))
    rows = walks.read_rows(report)
    report.count(rows, entries)
    if entries is not None and rows is not None:
        compare_contents(report, way, entries, rows)
    walks.look_at_order(report, *((None, entries) if way is Way.POINTERS else (entries, None)))
    walks.look_for_clashes(report, entries, rows)
    report.name()
    report.findings.lacks(
        f"whether entries of {report.native.name} lead to the right rows is not seen by a role "
        f"that may read only some columns; {report.native.grant}"
    )


def compare_contents(
    report: LeafReport, way: Way, entries: Totals, rows: Totals, *, are_missing_known: bool = False
) -> None:
    """Name what only one side has; rows without entry, unless they are known otherwise."""
    if (entries.count, entries.contents) == (rows.count, rows.contents):
        return
    found = report.attempt(lambda: report.reader.differing_contents(way, walks.WRONG_MAX))
    if found is None:
        more = entries.count - rows.count
        if more > 0 or not are_missing_known:
            report.add(DefectKind.DANGLING if more > 0 else DefectKind.MISSING, abs(more))
        report.findings.lacks(f"too much differs in {report.native.name} to be named")
        return
    held, given = found
    extra, lacking = _less(held, given), _less(given, held)
    _tell_same_keys(report, extra, lacking)
    for digest, content in extra.items():
        kind = DefectKind.DUPLICATE_ENTRY if digest in given else DefectKind.DANGLING
        for _ in range(content.copies):
            report.tell(Found(kind=kind, entry=content.texts))
    for content in () if are_missing_known else lacking.values():
        for _ in range(content.copies):
            report.tell(Found(kind=DefectKind.MISSING, due=content.texts))


def _tell_same_keys(report: LeafReport, extra: Contents, lacking: Contents) -> None:
    """Where an entry too many has the key of one that is lacking, what it stores is wrong."""
    if len(report.native.keys) == len(report.native.columns):
        return
    by_key = {one.key_digest: digest for digest, one in lacking.items() if one.copies == 1}
    for digest, content in list(extra.items()):
        other = by_key.pop(content.key_digest, None) if content.copies == 1 else None
        if other is not None:
            due = lacking.pop(other).texts
            del extra[digest]
            kind = DefectKind.WRONG_STORED_VALUE
            report.tell(Found(kind=kind, entry=content.texts, due=due))


def _less(one: Contents, other: Contents) -> Contents:
    """What one side has more of, and how many more."""
    return {
        digest: replace(content, copies=more)
        for digest, content in one.items()
        if (more := content.copies - (other[digest].copies if digest in other else 0)) > 0
    }
