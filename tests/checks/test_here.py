# SPDX-License-Identifier: Apache-2.0
"""Random trials in this process: what checks on Spark find, checks without Spark find as well.

The scenarios of `tests/test_scenarios.py` run in both places, too.
"""

from pathlib import Path

import pytest

from scrub.model.request import CheckRequest, Strategy
from scrub.model.result import Status
from tests.checks.test_detection import collect_trials, found_in
from tests.checks.trials import oracle, write_trials
from tests.in_process import check_here, runs_here
from tests.ways import IN_PROCESS, demand_made

TABLES = 24  # of eight trials each; those with expressions that only Spark evaluates are left out


@pytest.mark.slow
def test_every_defect_of_random_trials_is_found_once_and_nothing_else(tmp_path: Path) -> None:
    trials = collect_trials(TABLES)
    catalog = write_trials(trials, tmp_path)
    judged = 0
    for number, trial in enumerate(trials):
        name = f"t{number}"
        request = CheckRequest(
            catalog=catalog, tables=(name,), strategy=Strategy.FINGERPRINT, limit=1_000_000
        )
        if not runs_here(request):
            continue
        result = demand_made(check_here(request), IN_PROCESS)
        assert not [o for o in result.outcomes if o.status is Status.INCOMPLETE]
        assert found_in(result, name) == oracle(trial), trial
        judged += 1
    assert judged >= TABLES // 3, "hardly any trial ran here"
