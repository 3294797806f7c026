# SPDX-License-Identifier: Apache-2.0
"""What every check of a B-tree looks at: the entries it holds, their order, and unique keys."""

from checks.own_indexes.defects import Found
from checks.own_indexes.report import LeafReport
from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.readings import Totals

WRONG_MAX = 1_000_000
"""Wrong entries and rows that are kept in mind; an index with more is beyond being described."""


def tells_keys(report: LeafReport) -> bool:
    """Whether what rows give as keys is certain."""
    return report.reader.readings.tells_keys(Way.ROWS)


def unheld_keys(report: LeafReport) -> int:
    """How many keys a search must ask for, so that all are compared that no entry gave."""
    keys, unheld = report.native.keys, report.reader.unheld
    return max((n for n, key in enumerate(keys, 1) if key in unheld), default=0)


def in_step(entries: Totals, pointers: Totals) -> bool:
    """Whether entries and the rows they lead to have the same contents at the same positions."""
    return (entries.count, entries.positions) == (pointers.count, pointers.positions)


def read_rows(report: LeafReport) -> Totals | None:
    return report.attempt(lambda: report.reader.totals(Way.ROWS))


def read_entries(report: LeafReport) -> Totals | None:
    """The index's own entries, read before anything follows them to their rows."""
    native, reader = report.native, report.reader
    if tells_keys(report):
        report.findings.find_unheld(native, reader.unheld, reader.unreadable)
    if reader.unreadable:
        return None
    found = report.attempt(lambda: reader.totals(Way.ENTRIES))
    if found is not None and native.pages_visible < native.pages:
        report.findings.note(
            "entries that point to no row are seen only on pages whose rows are visible to "
            f"everyone: {native.pages_visible} of {native.pages} pages of "
            f"{native.table_name} at its last VACUUM"
        )
    return found


def look_at_order(report: LeafReport, entries: Totals | None, pointers: Totals | None) -> None:
    """Find entries that belong before the one before them."""
    are_keys_unheld = bool(unheld_keys(report))
    if are_keys_unheld:  # then it is seen through the rows
        entries = None
    totals = entries or pointers
    if totals is None or not totals.out_of_order:
        return
    report.add(DefectKind.KEY_ORDER, totals.out_of_order)
    if report.left <= 0:
        return
    # The rows that entries lead to tell their primary keys, as long as they are the same.
    same = pointers is not None and (entries is None or in_step(entries, pointers))
    way = Way.POINTERS if same else Way.ENTRIES
    for found in report.attempt(lambda: report.reader.misplaced(way, report.left)) or ():
        own = None if are_keys_unheld and found.row else found.texts
        report.keep(Found(kind=DefectKind.KEY_ORDER, row=found.row, entry=own, before=found.before))


def look_for_clashes(report: LeafReport, pointers: Totals | None, rows: Totals | None) -> None:
    """Equal keys are neighbours in a sound index; in another one the rows must be sorted."""
    native, findings = report.native, report.findings
    if not native.is_unique or rows is None or not tells_keys(report):
        return
    is_sound = pointers is not None and not (pointers.repeated or pointers.out_of_order)
    if is_sound and not any(findings.counts.values()):
        return
    if all(key.order is not None and key.order.is_orderable for key in native.keys):
        report.attempt(lambda: _tell_clashes(report, Way.ROWS))
    elif pointers is not None and not pointers.out_of_order:
        can_follow = report.reader.readings.can_ask_for(Way.POINTERS, 0)
        way = Way.POINTERS if can_follow else Way.ENTRIES
        report.attempt(lambda: _tell_clashes(report, way))
        if DefectKind.MISSING in findings.counts:
            findings.lacks("rows without an entry were not searched for unique keys")
    else:
        findings.lacks(f"{native.name} is out of order, so unique keys were not compared")


def _tell_clashes(report: LeafReport, way: Way) -> None:
    for row, texts in report.reader.clashing(way):
        due = None if row else texts
        report.tell(Found(kind=DefectKind.UNIQUE_VIOLATION, row=row, due=due))
