# SPDX-License-Identifier: Apache-2.0
"""From what was found to outcomes; no Spark is needed."""

from dataclasses import replace

from checks.findings import Findings, SlotFindings
from checks.outcomes import outcome_of_skipped, outcomes_of
from scrub.model.defect import DefectKind
from scrub.model.plan import NotChecked, WholePlan
from scrub.model.result import Status
from tests.checks.plans import a_plan


def test_a_finding_outweighs_what_was_not_read() -> None:
    found = SlotFindings(counts={DefectKind.MISSING: 2}, incomplete="a part is gone")
    ((_, (outcome,)),) = outcomes_of(a_plan("by_customer"), Findings({0: found}, {}))
    assert (outcome.status, outcome.reason) == (Status.DEFECTIVE, "a part is gone")
    assert outcome.is_incomplete


def test_the_outcome_of_the_whole_table_comes_first() -> None:
    plan = a_plan("by_customer")
    whole = (WholePlan(check="physical", columns=("id",), notes=("a note",)),)
    plan = replace(plan, tables=(replace(plan.tables[0], whole=whole),))
    findings = Findings({0: SlotFindings()}, {"physical": {"orders": SlotFindings(rows=3)}})
    ((_, outcomes),) = outcomes_of(plan, findings)
    assert [one.index for one in outcomes] == [None, "by_customer"]
    assert outcomes[0].notes == ("a note",)


def test_what_the_database_compares_is_of_one_engine() -> None:
    plan = a_plan("by_customer")
    (table,) = plan.tables
    (index,) = table.indexes
    plan = replace(plan, tables=(replace(table, indexes=(replace(index, in_store=True),)),))
    ((_, (outcome,)),) = outcomes_of(plan, Findings({0: SlotFindings()}, {}))
    assert outcome.engine == "native"


def test_a_check_that_could_not_run_is_incomplete() -> None:
    skipped = NotChecked(table="t", check="index", index="i", reason="why")
    assert outcome_of_skipped(skipped).status is Status.NOT_APPLICABLE
    assert outcome_of_skipped(replace(skipped, incomplete=True)).status is Status.INCOMPLETE
