# SPDX-License-Identifier: Apache-2.0
"""Results, waivers and baselines for tests of the gate, made without data."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from scrub.app.gating import Grounds
from scrub.model.defect import Defect, DefectKind
from scrub.model.definition import Definition
from scrub.model.gate import Baseline, GatePolicy, KnownDefect, Requirement, Waiver
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult

TODAY = date(2026, 11, 18)
SALT = "5a17"
INDEXES = ("by_customer", "by_email")
DEFINITIONS = {
    "orders": Definition(table="t1", indexes={"by_customer": "i1", "by_email": "i2"}),
    "people": Definition(table="t2", indexes={"by_name": "i3"}),
}
REQUIRED = tuple(Requirement(check="index", table="orders", index=name) for name in INDEXES)


def a_defect(number: int = 1, status: str = "paid", **more: Any) -> Defect:
    facts: dict[str, Any] = {
        "kind": DefectKind.WRONG_STORED_VALUE,
        "table": "orders",
        "index": "by_customer",
        "primary_key": {"id": number},
        "index_key": {"customer_id": 4, "id": number},
        "expected": {"customer_id": 4, "id": number, "status": "open"},
        "actual": {"customer_id": 4, "id": number, "status": status},
        "snapshot": "version 12",
    }
    return Defect(**(facts | more))


def known(defect: Defect, since: date = date(2026, 1, 5), **how: bool) -> KnownDefect:
    return KnownDefect(
        id=defect.id,
        content=defect.content(SALT, **how),
        kind=defect.kind,
        table=defect.table,
        index=defect.index,
        constraint=defect.constraint,
        since=since,
    )


def a_baseline(*defects: Defect) -> Baseline:
    return Baseline(salt=SALT, definitions=DEFINITIONS, known=tuple(map(known, defects)))


def a_waiver(days: int = 90, **of: Any) -> Waiver:
    more: dict[str, Any] = {"reason": "old import", "by": "ann", "line": 3}
    return Waiver(until=TODAY + timedelta(days=days), **(more | of))


def grounds(
    baseline: Baseline | None = None,
    waivers: Sequence[Waiver] = (),
    policy: GatePolicy | None = None,
    **more: Any,
) -> Grounds:
    facts: dict[str, Any] = {"required": REQUIRED, "definitions": DEFINITIONS, "today": TODAY}
    return Grounds(
        policy=policy or GatePolicy(), waivers=tuple(waivers), baseline=baseline, **(facts | more)
    )


def an_outcome(index: str, *defects: Defect, **more: Any) -> CheckOutcome:
    counts: dict[DefectKind, int] = {}
    for defect in defects:
        if defect.index == index:
            counts[defect.kind] = counts.get(defect.kind, 0) + 1
    facts: dict[str, Any] = {
        "check": "index",
        "status": Status.DEFECTIVE if counts else Status.CLEAN,
        "rows": 1000,
        "counts": counts,
    }
    return CheckOutcome(index=index, **(facts | more))


def a_result(outcomes: Sequence[CheckOutcome], *defects: Defect, **more: Any) -> RunResult:
    tables = (TableResult(table="orders", snapshot="version 12", checks=tuple(outcomes)),)
    facts: dict[str, Any] = {
        "run_id": "6b97f99d8dc6",
        "started_at": datetime(2026, 11, 18, 3, tzinfo=UTC),
        "seconds": 1.0,
        "tables": tables if outcomes else (),
        "defects": defects,
        "definitions": {"orders": DEFINITIONS["orders"]},
    }
    return RunResult(**(facts | more))


def complete(*defects: Defect, **more: Any) -> RunResult:
    return a_result([an_outcome(index, *defects) for index in INDEXES], *defects, **more)
