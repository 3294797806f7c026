# SPDX-License-Identifier: Apache-2.0
"""The last stage: what was not read, what has no name, and what riding checks counted."""

from checks.findings import Findings
from checks.run_state import Run


def conclude(run: Run) -> Findings:
    """Everything that was found; nothing is left to resume."""
    _name_faults(run)
    for slot in run.source.slots:
        found, relations = run.found[slot.number], run.relations_of(slot)
        reasons = [run.source.unread.reason(slot, *relations), found.incomplete]
        found.incomplete = run.source.glue.join(reason for reason in reasons if reason) or None
        run.unnamed.conclude(slot.number, found, run.source.unread.parts_of(*relations))
    whole = {name: riding.found for name, riding in run.source.riding.items()}
    of_tables = (found for by_table in whole.values() for found in by_table.values())
    for found in (*run.found.values(), *of_tables, *run.constraints.values()):
        found.notes += _notes(run)
    run.finished.forget()
    return Findings(
        slots=run.found,
        whole=whole,
        constraints=run.constraints,
        defects=tuple(run.shown.defects),
        bytes_read=dict(run.source.state.bytes_read),
    )


def _name_faults(run: Run) -> None:
    for name, riding in run.source.riding.items():
        reports = run.source.state.reports_of(name)
        riding.conclude(reports)
        if any(found.counts for found in riding.found.values()):
            run.report("naming defects")
            run.shown.add(riding.defects(reports, run.shown.wanted))


def _notes(run: Run) -> list[str]:
    notes = [run.finished.not_kept] if run.finished.not_kept else []
    if resumed := run.source.state.resumed:
        parts = len(run.source.parts)
        notes.append(f"resumed: {len(resumed)} of {parts} parts were read before")
    return notes
