# SPDX-License-Identifier: Apache-2.0
"""More defects than code hosts take."""

from scrub.model.defect import DefectKind
from scrub.model.result import RunResult, Status
from tests.reports.results import a_check, a_defect, a_run, a_table


def many_defects(number: int) -> RunResult:
    counts = {DefectKind.WRONG_STORED_VALUE: number}
    check = a_check("by_customer", Status.DEFECTIVE, counts=counts)
    defects = tuple(a_defect(primary_key={"id": one}) for one in range(number))
    return a_run(a_table(check), defects=defects)
