# SPDX-License-Identifier: Apache-2.0
"""From plans and what was found to the result of each table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scrub.app.selection import select_indexes
from scrub.model.plan import CheckPlan, NotChecked
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, TableResult
from scrub.model.table import Table

if TYPE_CHECKING:
    from checks.findings import Findings

NOT_READ = "not read"


def table_results(
    checked: "Sequence[tuple[CheckPlan, Findings]]", not_checked: Sequence[NotChecked]
) -> tuple[TableResult, ...]:
    """Outcomes by table, those that were not checked included, in the order of the plans."""
    from checks.outcomes import outcome_of_skipped, outcomes_of

    snapshots: dict[str, str] = {}
    outcomes: dict[str, list[CheckOutcome]] = {}
    read: dict[str, int] = {}
    for plan, findings in checked:
        read |= findings.bytes_read
        for table, of_plan in outcomes_of(plan, findings):
            name, label = table.table.name, table.snapshot
            seen = snapshots.setdefault(name, label)
            if label not in seen:
                snapshots[name] = f"{seen}, {label}"
            before = outcomes.setdefault(name, [])
            of_table = [one for one in of_plan if one.index is None]
            before[:0] = of_table
            before += of_plan[len(of_table) :]
    for skipped in not_checked:
        snapshots.setdefault(skipped.table, skipped.snapshot or NOT_READ)
        outcomes.setdefault(skipped.table, []).append(outcome_of_skipped(skipped))
    return tuple(
        TableResult(
            table=name,
            snapshot=snapshots[name],
            checks=tuple(of_table),
            bytes_read=read.get(name),
        )
        for name, of_table in outcomes.items()
    )


def with_unanswered(
    results: Iterable[TableResult], tables: Iterable[Table], request: CheckRequest
) -> Iterator[TableResult]:
    """The results, with an incomplete outcome for each check that was asked for and has none.

    A check that no stage carried out must not pass for clean.
    """
    from checks.outcomes import outcome_of_skipped
    from checks.registry import checks_of

    by_name = {result.table: result for result in results}
    for table in tables:
        result = by_name.get(
            table.name, TableResult(table=table.name, snapshot=NOT_READ, checks=())
        )
        answered = {outcome.check for outcome in result.checks}
        unanswered = [
            NotChecked(
                table=table.name,
                check=check.name,
                index=None,
                reason="the check was not carried out on this table",
                incomplete=True,
            )
            for check in checks_of(request, table)
            if check.name not in answered and check.subjects(select_indexes(table, request))
        ]
        checks = (*result.checks, *map(outcome_of_skipped, unanswered))
        if checks:
            yield replace(result, checks=checks)
