# SPDX-License-Identifier: Apache-2.0
"""`scrub demo` and `scrub selftest` as typed: what they print and how they exit."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrub.app.selftest_and_demo import demo as run_demo
from scrub.app.selftest_and_demo import selftest as run_selftest
from scrub.app.selftest_and_demo.demo import DemoLake, DemoRepair, DemoResult
from scrub.app.selftest_and_demo.faults import NotPlanted
from scrub.app.selftest_and_demo.key_values import DefectKey
from scrub.app.selftest_and_demo.selftest import SelfTestResult
from scrub.app.selftest_and_demo.verdicts import Trial
from scrub.cli import main
from scrub.model.defect import INDEX_KINDS, DefectKind
from scrub.model.journal import UndoReport
from scrub.model.repair import RepairPlan, RepairReport
from scrub.model.request import SparkOptions
from tests.reports.results import RESULTS

_DONE = RepairReport(table="orders", plan=RepairPlan((), ()), before=None, run="a1b2c3")
REPAIRED = DemoRepair(
    planned=_DONE,
    done=_DONE,
    after=RESULTS["clean"](),
    undone=UndoReport(
        of="a1b2c3", table="orders", started=datetime(2026, 11, 16, tzinfo=UTC), changes=0, run="d4"
    ),
)


def scrub(*arguments: str) -> int:
    try:
        return main.run(arguments)
    except SystemExit as stop:
        return stop.code


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> DemoResult:
    """The real lake, but a check that takes no Spark and finds what the test says."""
    result = DemoResult(
        result=RESULTS["defective"](), planted={}, found={}, unexpected=0, seconds=1
    )

    def fake(lake: DemoLake, **_: object) -> DemoResult:
        planted = dict.fromkeys(INDEX_KINDS, 2)
        return replace(result, planted=planted, found={**planted, **result.found})

    monkeypatch.setattr(run_demo, "run_demo", fake)
    monkeypatch.setattr(run_demo, "repair_demo", lambda *_, **__: REPAIRED)
    return result


@pytest.mark.usefixtures("found")
def test_the_demo_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert scrub("demo", "--rows", "1000") == 0
    out = capsys.readouterr().out
    for words in ("1,000 orders", "$ scrub check table orders", "where status = 'open'"):
        assert words in out
    assert "All 12 were found, and nothing else." in out
    assert "$ scrub undo a1b2c3 --execute" in out
    for kind in INDEX_KINDS:
        assert kind in out
    assert max(map(len, out.split("$ scrub check")[0].splitlines())) < 100


def test_a_demo_that_fails_says_so(
    found: DemoResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missed = replace(found, planted={DefectKind.MISSING: 3}, found={}, unexpected=1)
    monkeypatch.setattr(run_demo, "run_demo", lambda *_, **__: missed)
    assert scrub("demo", "--rows", "1000") == 1
    assert "0 of 3 planted defects were found, and 1 that were not" in capsys.readouterr().out


@pytest.mark.usefixtures("found")
def test_the_lake_is_kept_only_where_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scrub("demo", "--rows", "1000", "--keep", str(tmp_path / "kept")) == 0
    assert (tmp_path / "kept" / "lake" / "orders" / "_delta_log").is_dir()
    assert scrub("catalog", "validate", "--catalog", str(tmp_path / "kept" / "scrub.yaml")) == 0
    assert scrub("demo", "--rows", "1000", "--keep", str(tmp_path / "kept")) == 2
    assert "is not empty" in capsys.readouterr().err


def test_too_few_rows_are_a_mistake() -> None:
    assert scrub("demo", "--rows", "10") == 2
    assert scrub("selftest", "orders", "--rows", "0") == 2
    assert scrub("selftest", "orders", "--master", "local", "--remote", "sc://x") == 2


KEY = DefectKey(
    kind=DefectKind.MISSING, table="t", index="by_x", primary_key=(7,), index_key=("\x1b[2J",)
)
PASSED = SelfTestResult(
    table="orders",
    rows=100,
    rows_total=1000,
    engines=("native", "sql"),
    trials=(Trial(index="by_x", fault="missing entry", planted=1, found={"native": 1, "sql": 1}),),
    not_applicable=(NotPlanted(fault="wrong stored value", index="by_x", reason="it stores none"),),
    not_tried=(),
    unexpected={"native": (), "sql": ()},
    also_found=3,
)
MISSED = replace(
    PASSED,
    trials=(Trial(index="by_x", fault="missing entry", planted=1, found={"native": 1, "sql": 0}),),
    unexpected={"native": (), "sql": (KEY,) * 12},
)
UNTRIED = replace(
    PASSED,
    not_tried=(NotPlanted(fault="every fault", index="by_y", reason="x", applicable=True),),
)


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        (
            PASSED,
            0,
            [
                "a sample of 100 of 1,000 rows",
                "3 defects; to see them: scrub check table orders",
                "passed",
            ],
        ),
        (
            MISSED,
            1,
            [
                "NOT FOUND",
                "and 2 more",
                "primary key (7,)",
                "failed: 1 fault missed, 12 differences",
            ],
        ),
        (UNTRIED, 3, ["Could not be tried", "by_y: every fault (x)", "incomplete"]),
    ],
)
def test_a_selftest_shows_every_verdict(
    result: SelfTestResult,
    code: int,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: dict[str, object] = {}

    def fake(table: str, **options: object) -> SelfTestResult:
        asked.update(options, table=table)
        return result

    monkeypatch.setattr(run_selftest, "run_selftest", fake)
    options = ["--catalog", "c.yaml", "--rows", "5", "--keep", "d", "--conf", "a=b"]
    assert scrub("selftest", "orders", *options) == code
    out = capsys.readouterr().out
    for word in words:
        assert word in out
    assert (asked["table"], asked["catalog"], asked["rows"]) == ("orders", Path("c.yaml"), 5)
    assert asked["keep"] == Path("d")
    assert asked["spark_options"] == SparkOptions(conf=(("a", "b"),), short_lived=True)
