# SPDX-License-Identifier: Apache-2.0
"""A result that a gate judged, with a defect of every standing."""

from dataclasses import replace
from datetime import date

from reports.context import CatalogPlaces, ReportContext
from scrub.model.defect import Defect, DefectKind
from scrub.model.gate import JudgedDefect, KnownDefect, Severity, Standing, Verdict, Waiver
from scrub.model.result import CheckOutcome, RunResult, Status
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import parse_type
from tests.reports.results import HOSTILE, a_check, a_defect, a_run, a_table

SINCE = date(2026, 10, 1)
WAIVER = Waiver(
    reason="orders of 2019 are removed in March", by="anna", until=date(2027, 3, 31), line=4
)
STANDINGS = (Standing.NEW, Standing.CHANGED, Standing.KNOWN, Standing.WAIVED)


def defects() -> tuple[Defect, ...]:
    of_row = {"index": None, "index_key": None, "expected": None, "actual": None}
    return (
        a_defect(primary_key={"id": 1}),
        a_defect(primary_key={"id": 2}),
        a_defect(primary_key={"id": 3}),
        a_defect(
            DefectKind.CHECK_VIOLATION, primary_key={"id": 4}, constraint="positive", **of_row
        ),
    )


def judged_result() -> RunResult:
    constraint = CheckOutcome(
        check="constraint",
        index=None,
        constraint="positive",
        status=Status.DEFECTIVE,
        rows=1_000_000,
        counts={DefectKind.CHECK_VIOLATION: 1},
    )
    counts = {DefectKind.WRONG_STORED_VALUE: 3}
    return a_run(
        a_table(
            constraint,
            replace(constraint, constraint="other", status=Status.CLEAN, counts={}),
            a_check("by_customer", Status.DEFECTIVE, counts=counts),
            a_check("by_email", Status.INCOMPLETE, reason="1.parquet cannot be read"),
        ),
        defects=defects(),
    )


def a_verdict(**more: object) -> Verdict:
    judged = tuple(
        JudgedDefect(
            defect=defect,
            standing=standing,
            waiver=WAIVER if standing is Standing.WAIVED else None,
            since=None if standing in (Standing.NEW, Standing.WAIVED) else SINCE,
            fails=standing in (Standing.NEW, Standing.CHANGED),
        )
        for defect, standing in zip(defects(), STANDINGS, strict=True)
    )
    facts: dict[str, object] = {
        "exit_code": 1,
        "reasons": ("1 new and 1 changed defect of orders.by_customer",),
        "warnings": ("line 9: the waiver for id 77aa matches nothing",),
        "defects": judged,
        "gone": (
            KnownDefect(
                id="00ff00ff00ff00ff",
                content="c",
                kind=DefectKind.MISSING,
                table="orders",
                index="by_email",
                constraint=None,
                since=SINCE,
            ),
        ),
        "counts": dict.fromkeys(Standing, 1),
    }
    return Verdict(**(facts | more))  # type: ignore[arg-type]


def forgiven() -> Verdict:
    """The gate passes: nothing is new."""
    before = a_verdict()
    judged = tuple(
        one
        if one.standing is Standing.WAIVED
        else replace(one, standing=Standing.KNOWN, since=SINCE, fails=False)
        for one in before.defects
    )
    counts = {Standing.KNOWN: 3, Standing.WAIVED: 1}
    return a_verdict(exit_code=0, reasons=(), defects=judged, counts=counts)


def hostile_verdict(defect: Defect, text: str = HOSTILE) -> Verdict:
    waiver = replace(WAIVER, reason=text, by=text)
    judged = JudgedDefect(
        defect=defect, standing=Standing.WAIVED, waiver=waiver, severity=Severity.WARNING
    )
    gone = replace(a_verdict().gone[0], table=text, index=text)
    return a_verdict(defects=(judged,), reasons=(text,), warnings=(text,), gone=(gone,))


def a_catalog() -> CatalogPlaces:
    bigint = parse_type("bigint")
    key = (EntryColumn(name="customer_id", source="customer_id", type=bigint),)
    index = Index(name="by_customer", store="lake", relation="r", key=key, suffix=(), line=21)
    table = Table(
        name="orders",
        store="lake",
        relation="orders",
        columns=(Column(name="id", type=bigint),),
        primary_key=("id",),
        indexes=(index,),
        constraint_lines={"positive": 14},
        line=7,
    )
    return CatalogPlaces(file="data/scrub.yaml", tables={"orders": table})


def judged() -> ReportContext:
    return ReportContext(verdict=a_verdict(), places=a_catalog())
