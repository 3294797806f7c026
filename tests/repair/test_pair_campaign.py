# SPDX-License-Identifier: Apache-2.0
"""One damage by chance among sound pairs, many times: it is found, nothing sound is blamed or lost.

SCRUB_TRIALS says how many times; `make torture` asks for more.
"""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scrub.app import run_check
from scrub.model.defect import Defect, DefectKind
from scrub.model.request import CheckRequest
from tests.checks.pairs.pair_ground import COLUMNS, INDEXES, ONE_FAMILY
from tests.repair.pair_damages import Damage, Pairs
from tests.repair.pair_store_ground import LakeOfPairs, PairGround
from tests.repair.test_pair_repairs import DONE, repaired

TRIALS = int(os.environ.get("SCRUB_TRIALS", "40"))
ROWS = 14
TYPED = {
    "columns": COLUMNS
    | {
        "customer_id": {"type": "int"},
        "email": {"type": "string", "nullable": False},
        "note": {"type": "varchar(20)"},
    }
}
MAIL_APART: dict[str, Any] = {"mail": {"id": 1, "columns": ["email"]}}
APART = {name: index | {"relation": name} for name, index in INDEXES.items()}


def damaged(directory: Path, seed: int) -> tuple[PairGround, Damage, Pairs]:
    chance = random.Random(seed)
    families = chance.choice([ONE_FAMILY, MAIL_APART])
    ground = LakeOfPairs(directory, families, chance.choice([INDEXES, APART]), TYPED)
    sound = ground.sound(ROWS)
    damage = Damage(ground, chance, {name: list(of) for name, of in sound.items()})
    damage.strike()
    return ground, damage, sound


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_damage_is_found_and_nothing_sound_is_blamed_or_lost(tmp_path: Path, seed: int) -> None:
    ground, damage, sound = damaged(tmp_path, seed)
    ground.write_all(sound)
    assert ground.defects() == []
    right = ground.pairs()
    ground.write_all(damage.pairs)
    before = ground.pairs()
    found = ground.defects()
    assert found, damage.name
    blamed = {bytes.fromhex(defect.key_hex or "") for defect in found}
    assert blamed <= damage.blamed, damage.name
    assert all(None not in (defect.primary_key or {}).values() for defect in found)
    runs = repaired(ground)
    after = ground.pairs()
    for relation, pairs in after.items():
        invented = pairs - (before[relation] | right[relation])
        assert not invented, damage.name
        assert before[relation] & right[relation] <= pairs, damage.name
    for run in reversed(runs):
        assert set(ground.undo(run)) == {DONE}
    assert ground.pairs() == before


def told(defects: list[Defect]) -> Counter[tuple[DefectKind, str | None, str | None]]:
    return Counter((defect.kind, defect.index, defect.key_hex) for defect in defects)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(max(3, TRIALS // 10)))
def test_a_check_finds_what_the_campaign_takes_for_its_findings(
    tmp_path: Path, spark: Any, seed: int
) -> None:
    ground, damage, _ = damaged(tmp_path, 1000 + seed)
    ground.write_all(damage.pairs)
    result = run_check(CheckRequest(catalog=ground.path), spark=spark)
    assert told(list(result.defects)) == told(ground.defects()), damage.name
