# SPDX-License-Identifier: Apache-2.0
"""The status that follows from what was found of an index; no Spark is needed."""

import pytest

from checks.findings import SlotFindings
from scrub.model.defect import DefectKind
from scrub.model.result import Status

DEFECTS = {DefectKind.MISSING: 1}


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (SlotFindings(), Status.CLEAN),
        (SlotFindings(counts={DefectKind.MISSING: 0}), Status.CLEAN),
        (SlotFindings(transient=2), Status.CLEAN),
        (SlotFindings(counts=DEFECTS), Status.DEFECTIVE),
        (SlotFindings(unnamed=1), Status.DEFECTIVE),
        (SlotFindings(incomplete="gone"), Status.INCOMPLETE),
        (SlotFindings(incomplete="gone", counts=DEFECTS), Status.DEFECTIVE),
        (SlotFindings(not_applicable="no such column", counts=DEFECTS), Status.NOT_APPLICABLE),
    ],
    ids=[
        "nothing",
        "none_of_a_kind",
        "transient",
        "defects",
        "without_a_name",
        "incomplete",
        "defects_and_incomplete",
        "not_applicable",
    ],
)
def test_the_worst_that_is_certain_is_the_status(found: SlotFindings, status: Status) -> None:
    assert found.status is status
