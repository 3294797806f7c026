# SPDX-License-Identifier: Apache-2.0
"""What the check before publishing decides: publish, refuse, or leave it to be resumed."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from scrub.app.building import gate
from scrub.model.backfill import BackfillRequest, BackfillResult, BackfillStatus
from scrub.model.build import State
from scrub.model.request import CheckRequest
from scrub.stores.building import Refused, Unchecked
from tests.reports.results import RESULTS

ROOT = Path(__file__).parents[4]
REQUEST = BackfillRequest(table="orders", indexes=("by_customer", "by_email"))


def look(monkeypatch: pytest.MonkeyPatch, result: str) -> Mapping[str, int]:
    """What the gate says of a result."""
    asked: list[CheckRequest] = []

    def run_check(request: CheckRequest, **options: Any) -> Any:
        asked.append(request)
        return RESULTS[result]()

    monkeypatch.setattr(gate, "run_check", run_check)
    opened = gate.CheckingGate(REQUEST, None, None, lambda _: None)
    try:
        return opened(["by_customer"])
    finally:
        assert asked[0].indexes == ("by_customer",)
        assert asked[0].fresh, "what another check found is no answer"
        assert asked[0].being_built, "else an index in Delta would be skipped"


def test_a_clean_index_may_be_published(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "by_customer" in look(monkeypatch, "clean")


@pytest.mark.parametrize("result", ["defective", "defective_and_incomplete"])
def test_a_defective_index_is_refused_and_its_rows_named(
    monkeypatch: pytest.MonkeyPatch, result: str
) -> None:
    with pytest.raises(Refused, match=r"^the check found (.|\n)*id="):
        look(monkeypatch, result)


def test_a_check_that_could_not_look_at_everything_refuses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unchecked, match="could not look at everything") as told:
        look(monkeypatch, "incomplete")
    assert told.value.exit_code == 3


@pytest.mark.parametrize(
    ("states", "unchecked", "code"),
    [
        ((State.PUBLIC, State.PUBLIC), (), 0),
        ((State.PUBLIC, State.VALIDATING), (), 1),
        ((State.PUBLIC, State.VALIDATING), ("by_email",), 3),
        ((State.VALIDATING, State.VALIDATING), ("by_email",), 1),
        ((State.PUBLIC, State.REVERSED), (), 1),
    ],
)
def test_the_exit_code_of_a_run_is_that_of_its_worst_index(
    states: tuple[State, ...], unchecked: tuple[str, ...], code: int
) -> None:
    builds = tuple(
        BackfillStatus(table="orders", indexes=(name,), state=state)
        for name, state in zip(REQUEST.indexes, states, strict=True)
    )
    assert BackfillResult(builds=builds, unchecked=unchecked).exit_code == code


def calls_of_publish(path: Path) -> Iterator[str]:
    """Where a build is published, or somebody is told how to; records of builds are no builds."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_publish = isinstance(node, ast.Attribute) and node.attr == "publish"
        if is_publish and ast.unparse(node) != "self.builds.publish":
            yield f"{path.relative_to(ROOT)}: {ast.unparse(node)}"


def test_nothing_becomes_public_but_through_the_gate() -> None:
    """Both ways to publish are handed to `publish_if_clean`, which asks the gate first."""
    packages = ("scrub", "repair", "checks", "reports")
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]
    assert sorted(call for file in files for call in calls_of_publish(file)) == [
        "repair/building.py: self.build.publish",
        "scrub/app/building/delta.py: build.publish",
    ]
    for module in ("repair/building.py", "scrub/app/building/delta.py"):
        assert "publish_if_clean(" in (ROOT / module).read_text()
