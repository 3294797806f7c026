# SPDX-License-Identifier: Apache-2.0
"""Keys whose first digests are forced to collide are told apart by the second, and by value."""

from pathlib import Path
from typing import Any

import pytest

from scrub.codec.digest import Salt
from tests.checks.constraints import lakes
from tests.checks.keys.ground import SALT, colliding

pytestmark = pytest.mark.spark

KEY = {"a": "bigint", "b": "bigint"}
CHILD = {"id": "bigint", **KEY}
FIRST = (17, 4)
TWIN = colliding(FIRST, 99)


@pytest.fixture(autouse=True)
def known_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Salts are random, so that nobody can prepare such keys."""
    monkeypatch.setattr(Salt, "fresh", classmethod(lambda cls: SALT))  # noqa: ARG005


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    lakes.write_table(tmp_path, "parent", KEY, FIRST, (1, 1))
    lakes.write_table(tmp_path, "child", CHILD, (1, *FIRST), (2, *TWIN), (3, 1, 1))
    lakes.write_table(tmp_path, "pairs", KEY, FIRST, TWIN, (1, 1), (1, 1))
    child = lakes.a_table(
        CHILD, unique={"both": ["a", "b"]}, foreign_keys={"of": lakes.refers("parent", "a", "b")}
    )
    tables = {
        "parent": lakes.a_table(KEY, "a", "b"),
        "pairs": lakes.a_table(KEY, "a", "b"),
        "child": child,
    }
    return lakes.write_catalog(tmp_path, tables)


@pytest.mark.parametrize("held", [4_000_000, 0])
def test_two_keys_whose_first_digests_are_forced_to_collide(
    catalog: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    # Parents that are too many to travel are brought together with their children instead.
    monkeypatch.setattr("checks.constraints.plan.HELD_KEYS_MAX", held)
    result = lakes.check(catalog, spark, "child", "pairs")
    assert lakes.found(result, "child") == [("of", 2)]
    assert lakes.outcome_of(result, "both", "child").defects == 0
    assert lakes.found(result, "pairs") == [("primary_key", 1, 1)]
    assert not result.is_incomplete
    assert {outcome.engine for outcome in result.outcomes if outcome.constraint} == {"native"}
