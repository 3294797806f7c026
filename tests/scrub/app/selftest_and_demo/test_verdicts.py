# SPDX-License-Identifier: Apache-2.0
"""A self-test must not pass when a check misses something, invents something or says it twice."""

from collections import Counter
from dataclasses import replace

from scrub.app.selftest_and_demo.faults import plant_all
from scrub.app.selftest_and_demo.selftest import SelfTestResult
from scrub.app.selftest_and_demo.verdicts import EngineReport, Trial, trials, unexpected
from tests.scrub.app.selftest_and_demo.oracle import defects_of
from tests.scrub.app.selftest_and_demo.test_faults import CONDITIONS, INDEXES, a_copy

COPIES, _ = plant_all(a_copy(), INDEXES, seed=0)
RIGHT = defects_of(COPIES[0].copy, CONDITIONS)
ONE = next(iter(RIGHT))


def verdicts(defects: Counter) -> tuple[list[Trial], tuple]:
    report = EngineReport(defects=defects)
    return list(trials(COPIES, {"native": report})), unexpected(COPIES, report, EngineReport())


def test_the_right_report_passes() -> None:
    found, extra = verdicts(RIGHT)
    assert all(trial.passed for trial in found)
    assert extra == ()


def test_a_missed_defect_fails_its_fault_alone() -> None:
    found, extra = verdicts(RIGHT - Counter([ONE]))
    assert [trial.passed for trial in found].count(False) == 1
    assert extra == ()


def test_an_invented_defect_is_unexpected() -> None:
    (other,), _ = plant_all(a_copy(), INDEXES, seed=99)
    invented = next(key for key in defects_of(other.copy, CONDITIONS) if key not in RIGHT)
    found, extra = verdicts(RIGHT + Counter([invented]))
    assert all(trial.passed for trial in found)
    assert extra == (invented,)


def test_a_defect_reported_twice_is_not_found() -> None:
    found, extra = verdicts(RIGHT + Counter([ONE]))
    assert [trial.passed for trial in found].count(False) == 1
    assert extra == (ONE,)


def test_a_defect_of_the_user_that_vanishes_is_unexpected() -> None:
    (other,), _ = plant_all(a_copy(), INDEXES, seed=99)
    key = next(key for key in defects_of(other.copy, CONDITIONS) if key not in RIGHT)
    before = EngineReport(defects=Counter([replace(key, table="orders")]))
    now = EngineReport(defects=RIGHT + Counter([key]))
    assert unexpected(COPIES, now, before) == ()
    assert unexpected(COPIES, EngineReport(defects=RIGHT), before) == (key,)


def test_exit_codes() -> None:
    passed = Trial(index="i", fault="f", planted=1, found={"sql": 1})
    missed = Trial(index="i", fault="f", planted=2, found={"native": 2, "sql": 1})

    def code(*of_trials: Trial, unexpected: tuple = (), not_tried: tuple = ()) -> int:
        return SelfTestResult(
            table="t",
            rows=1,
            rows_total=1,
            engines=("sql",),
            trials=of_trials,
            not_applicable=(),
            not_tried=not_tried,
            unexpected={"sql": unexpected},
            also_found=5,
        ).exit_code

    assert code(passed) == 0
    assert code(passed, missed) == 1
    assert code(passed, missed, not_tried=(ONE,)) == 1
    assert code(passed, unexpected=(ONE,)) == 1
    assert code(passed, not_tried=(ONE,)) == 3
    assert code() == 3
