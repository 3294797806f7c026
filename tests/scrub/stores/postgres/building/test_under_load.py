# SPDX-License-Identifier: Apache-2.0
"""Builds of a table that eight clients write to, by a process that is killed again and again."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from scrub.app import run_check
from scrub.model.build import Method, State
from scrub.model.request import CheckRequest
from scrub.model.result import Status
from tests.scrub.stores.postgres.building.kills import Kills, Moment
from tests.scrub.stores.postgres.building.load import QUICK_JVM, Shop, shop

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 50_000
TRANSACTIONS_A_SECOND = 300


@pytest.fixture(scope="module")
def orders() -> Iterator[Shop]:
    with shop(ROWS) as made:
        yield made


@pytest.mark.parametrize("method", Method)
def test_killed_twice_under_load(orders: Shop, method: Method, spark: Any) -> None:
    chance = random.Random()
    seconds = chance.uniform
    moments = [
        Moment(State.DELETE_ONLY, seconds(0, 2)),  # before the first chunk
        Moment(State.BACKFILLING, rows=chance.randint(1, ROWS)),
        Moment(State.MERGING if method is Method.MERGE else State.VALIDATING, seconds(0, 0.3)),
    ]
    moments = sorted(chance.sample(moments, 2), key=moments.index)  # make torture kills 20 times
    kills = Kills(orders, method, QUICK_JVM)  # what it prints is shown if it fails
    with orders.traffic(TRANSACTIONS_A_SECOND) as traffic:
        kills.survive(moments, len(moments))
    assert traffic.count() > 0
    assert kills.made == len(moments)
    assert_clean(orders, spark)
    kills.remove()


def test_a_server_that_crashes_and_comes_back(orders: Shop, spark: Any) -> None:
    kills = Kills(orders, Method.INIT_PUT, (*QUICK_JVM, "--rows-per-second", "20000"))
    moment = Moment(State.BACKFILLING, rows=random.randint(1, ROWS // 2))
    assert kills.survive_restart(moment, TRANSACTIONS_A_SECOND) > 0
    assert_clean(orders, spark)
    kills.remove()


def assert_clean(orders: Shop, spark: Any) -> None:
    assert orders.differences() == 0
    result = run_check(CheckRequest(catalog=orders.catalog, fresh=True), spark=spark)
    assert result.status is Status.CLEAN
