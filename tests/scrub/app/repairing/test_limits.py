# SPDX-License-Identifier: Apache-2.0
"""What a repair that is too large says: typing it is enough."""

import re
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from scrub.app.repairing.limits import over_limit
from scrub.model.defect import DefectKind
from scrub.model.repair import Action, ActionKind, RepairPlan, RepairRequest

DELETE = Action(
    kind=ActionKind.DELETE,
    defect="d",
    defect_kind=DefectKind.DANGLING,
    table="t",
    index="by_v",
    primary_key={"k": 1},
    before={"k": 1},
)


@example(changes=300_301, size=300)
@example(changes=3_991, size=25)
@given(changes=st.integers(2, 20_000), size=st.integers(0, 100_000))
def test_the_fraction_that_a_refusal_names_is_enough(changes: int, size: int) -> None:
    """Formerly it had six digits, which was too little for 300,301 changes of 300 entries."""
    plan = RepairPlan(actions=(DELETE,) * changes, refusals=())
    request = RepairRequest(table="t", max_changes=10**9)
    refusal = over_limit(plan, {"by_v": size}, request)
    if changes / max(1, size) <= request.max_fraction:
        assert refusal is None
        return
    assert refusal is not None
    (typed,) = re.findall(r"add --max-fraction ([\d.]+)$", refusal)
    assert over_limit(plan, {"by_v": size}, replace(request, max_fraction=float(typed))) is None
