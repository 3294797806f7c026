# SPDX-License-Identifier: Apache-2.0
"""A build while others write, compact, and kill it."""

import random
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from scrub.app import run_check
from scrub.app.building.follow import FollowRequest, follow_once
from scrub.app.building.verbs import run_backfill
from scrub.model.backfill import BackfillRequest
from scrub.model.request import CheckRequest
from scrub.model.result import Status
from tests.forked import Forked
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of
from tests.scrub.stores.delta.delta_worker import build as follow
from tests.scrub.stores.delta.delta_worker import write

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def compact(location: str) -> None:
    for _ in range(100):
        try:
            DeltaTable(location).optimize.compact()
            return
        except CommitFailedError:
            time.sleep(random.uniform(0, 0.05))
    raise AssertionError("the compaction never got its turn")


def test_four_writers_a_compaction_and_kills_of_the_follower(tmp_path: Path, spark: Any) -> None:
    ground = DeltaGround(tmp_path, rows_of(*((n, n % 50, "open") for n in range(3000))))
    writers = [Forked(write, ground.location, n, 8) for n in range(4)]
    kills = 0
    while kills < 5 or any(writer.is_running for writer in writers):
        follower = Forked(follow, ground.catalog)
        follower.wait_for_word()
        time.sleep(random.uniform(0, 0.4))
        assert follower.kill(), "the follower ended by itself"
        kills += 1
        if kills == 2:
            compact(ground.location)
    assert [writer.wait() for writer in writers] == [0] * 4
    wanted = BackfillRequest(table="orders", indexes=("by_customer",), catalog=Path(ground.catalog))
    assert run_backfill(wanted, spark=spark).exit_code == 0
    assert ground.entries() == ground.expected()

    # It stays clean while it is followed, whatever version it shows at the moment.
    writer = Forked(write, ground.location, 7, 8)
    request = FollowRequest(table="orders", indexes=("by_customer",), catalog=ground.catalog)
    check = CheckRequest(catalog=ground.catalog, tables=("orders",), indexes=("by_customer",))
    for _ in range(2):
        assert run_check(check, spark=spark).status is Status.CLEAN
        assert follow_once(request).exit_code == 0
    assert writer.wait() == 0
    assert follow_once(request).followed[0].lag == 0
    assert run_check(check, spark=spark).status is Status.CLEAN
    assert ground.entries() == ground.expected()
