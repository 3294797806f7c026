# SPDX-License-Identifier: Apache-2.0
"""The check of a B-tree whose order no query can ask for, since another class has its operators.

Its entries can be read, and judged by the comparison of its own class; but no plan follows all of
them to their rows. So entries are compared with rows by what they hold, and each row is searched
for by its key: together this tells as much.
"""

from itertools import islice

from checks.own_indexes import walks
from checks.own_indexes.contents import compare_contents
from checks.own_indexes.defects import Found
from checks.own_indexes.report import LeafReport
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.readings import Totals

NOT_FOUND = "a search for its key does not find the row"


def look_and_search(report: LeafReport) -> None:
    """Compare entries with rows by contents, and search for each row."""
    entries, rows = walks.read_entries(report), walks.read_rows(report)
    report.count(rows, entries)
    _demand_keys(report, entries)
    if rows is not None:
        _compare_with_rows(report, entries, rows)
    walks.look_at_order(report, entries, None)
    walks.look_for_clashes(report, entries, rows)
    report.name()


def _demand_keys(report: LeafReport, entries: Totals | None) -> None:
    """Without its keys, the order of an index is not known."""
    if entries is None or not report.reader.readings.tells_keys(Way.ENTRIES):
        reason = report.reader.unreadable or "its keys cannot be read from it"
        report.findings.lacks(
            f"whether {report.native.name} is in order could not be seen: {reason}"
        )


def _compare_with_rows(report: LeafReport, entries: Totals | None, rows: Totals) -> None:
    missing = _rows_not_found(report, entries, rows)
    if entries is not None and not report.reader.unheld:
        is_known = missing is not None
        compare_contents(report, Way.ENTRIES, entries, rows, are_missing_known=is_known)
    for row in missing or ():
        report.tell(Found(kind=DefectKind.MISSING, row=row, how=NOT_FOUND))


def _rows_not_found(report: LeafReport, entries: Totals | None, rows: Totals) -> list[str] | None:
    if not walks.tells_keys(report):
        return None
    if entries is not None and entries.out_of_order:
        report.findings.lacks(
            f"{report.native.name} is out of order, so no row was searched for; whether its "
            "entries lead to the right rows is not known"
        )
        return None
    found = report.reader.rows_not_found(len(report.native.keys), rows)
    return report.attempt(lambda: list(islice(found, walks.WRONG_MAX)))
