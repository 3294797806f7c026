# SPDX-License-Identifier: Apache-2.0
"""From a plan and what was found to the result of each table."""

from typing import TYPE_CHECKING

from scrub.model.plan import CheckPlan
from scrub.model.result import CheckOutcome, Status, TableResult

if TYPE_CHECKING:
    from checks.findings import Findings


def table_results(plan: CheckPlan, findings: "Findings | None") -> tuple[TableResult, ...]:
    """Outcomes by table, those that were not checked included, in the plan's order."""
    snapshots: dict[str, str] = {}
    outcomes: dict[str, list[CheckOutcome]] = {}
    if findings is not None:
        from checks.findings import outcome_of, physical_outcome
        from checks.slots import number_plan

        for table in plan.tables:
            name, label = table.table.name, table.side.facts.snapshot.label
            seen = snapshots.setdefault(name, label)
            if label not in seen:
                snapshots[name] = f"{seen}, {label}"
            of_table = outcomes.setdefault(name, [])
            if table.physical is not None:
                of_table.insert(0, physical_outcome(table, findings.physical[name]))
            slots = [slot for slot in number_plan(plan)[0] if slot.table is table]
            of_table += [outcome_of(slot, findings.slots[slot.number]) for slot in slots]
    for skipped in plan.not_checked:
        snapshots.setdefault(skipped.table, skipped.snapshot or "not read")
        status = Status.INCOMPLETE if skipped.incomplete else Status.NOT_APPLICABLE
        outcomes.setdefault(skipped.table, []).append(
            CheckOutcome(
                check=skipped.check,
                index=skipped.index,
                status=status,
                reason=skipped.reason,
                error=skipped.error is not None,
            )
        )
    read = findings.bytes_read if findings else {}
    return tuple(
        TableResult(
            table=name,
            snapshot=snapshots[name],
            checks=tuple(of_table),
            bytes_read=read.get(name),
        )
        for name, of_table in outcomes.items()
    )
