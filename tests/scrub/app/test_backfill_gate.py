# SPDX-License-Identifier: Apache-2.0
"""What the check before publishing decides: publish, take back, or wait to be resumed."""

from types import SimpleNamespace
from typing import Any

import pytest

from scrub.app import backfill
from scrub.errors import StoreUnavailable
from scrub.model.request import CheckRequest
from tests.reports.results import RESULTS


def look(monkeypatch: pytest.MonkeyPatch, result: str) -> str | None:
    """What the gate says of a result."""
    asked: list[CheckRequest] = []

    def run_check(request: CheckRequest, **options: Any) -> Any:
        asked.append(request)
        return RESULTS[result]()

    monkeypatch.setattr(backfill, "run_check", run_check)
    built = SimpleNamespace(
        request=SimpleNamespace(catalog="scrub.yaml"), table=SimpleNamespace(name="orders")
    )
    gate = backfill._gate(built, lambda: None, lambda _: None)  # type: ignore[arg-type, return-value]
    try:
        return gate(["by_customer"])
    finally:
        assert asked[0].indexes == ("by_customer",)
        assert asked[0].fresh, "what another check found is no answer"


def test_a_clean_index_may_be_published(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(monkeypatch, "clean") is None


@pytest.mark.parametrize("result", ["defective", "defective_and_incomplete"])
def test_a_defective_index_is_taken_back_and_its_rows_named(
    monkeypatch: pytest.MonkeyPatch, result: str
) -> None:
    reason = look(monkeypatch, result)
    assert reason is not None
    assert reason.startswith("the check found ")
    assert "id=" in reason


def test_a_check_that_could_not_look_at_everything_takes_nothing_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(StoreUnavailable, match="could not look at everything"):
        look(monkeypatch, "incomplete")
