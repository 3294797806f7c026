# SPDX-License-Identifier: Apache-2.0
"""Tables by time zone: a session has one zone, so tables of several are checked one after another.

A table and its indexes are of one zone, so each is still compared at one snapshot.
"""

from collections.abc import Sequence
from dataclasses import replace

from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult
from scrub.model.table import Table


def by_time_zone(tables: Sequence[Table]) -> dict[str, tuple[Table, ...]]:
    """The tables of each zone, zones and tables in their order."""
    zones = dict.fromkeys(table.time_zone for table in tables)
    return {zone: tuple(t for t in tables if t.time_zone == zone) for zone in zones}


def joined_plans(plans: Sequence[CheckPlan]) -> CheckPlan:
    """One plan of all tables."""
    return replace(
        plans[0],
        tables=tuple(table for plan in plans for table in plan.tables),
        not_checked=tuple(skipped for plan in plans for skipped in plan.not_checked),
        own_indexes=tuple(own for plan in plans for own in plan.own_indexes),
    )


def joined_results(results: Sequence[RunResult]) -> RunResult:
    """One result of all tables."""
    return replace(
        results[0],
        seconds=sum(result.seconds for result in results),
        tables=tuple(table for result in results for table in result.tables),
        defects=tuple(defect for result in results for defect in result.defects),
        seconds_starting=sum(result.seconds_starting for result in results),
        ran="; ".join(dict.fromkeys(result.ran for result in results if result.ran)) or None,
        pace="; ".join(dict.fromkeys(result.pace for result in results if result.pace)) or None,
        seconds_waiting=sum(result.seconds_waiting for result in results),
    )
