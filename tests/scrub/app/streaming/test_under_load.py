# SPDX-License-Identifier: Apache-2.0
"""The real command, killed at random moments under writers, with the indexes right in the end.

SCRUB_STREAM_KILLS asks for another number of kills.
"""

import os
import random
import signal
import time

import pytest

from tests.scrub.app.streaming.shop import Shop, phase_of, until

pytestmark = pytest.mark.slow
_KILLS = int(os.environ.get("SCRUB_STREAM_KILLS", "4"))


@pytest.mark.parametrize("place", ["shop", "two_databases"])
def test_killed_at_random_moments_under_load(place: str, request: pytest.FixtureRequest) -> None:
    shop: Shop = request.getfixturevalue(place)
    moments = random.Random(_KILLS)
    with shop.written_to():
        for number in range(_KILLS):
            # Slowly enough that the history is still being read when the first ones are killed.
            pace = ("--rows-per-second", "400") if number < _KILLS - 1 else ()
            with shop.running(*pace) as process:
                time.sleep(moments.uniform(0.7, 3.0))
                assert process.poll() is None, process.communicate()
                process.send_signal(signal.SIGKILL)
        with shop.running("--rows-per-second", "100000"):
            until(lambda: phase_of(shop) == "public")
            verified = shop.scrub("verify", "orders")
            assert verified.returncode == 0, verified.stdout + verified.stderr
    ended = shop.scrub("run", "orders", "by_customer", "open_orders", "--until", "caught-up",
                       "--execute")  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert not shop.differences()
    verified = shop.scrub("verify", "orders")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert not shop.failures


def test_interrupted_it_says_how_to_go_on(shop: Shop) -> None:
    with shop.running() as process:
        until(lambda: phase_of(shop) == "public")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "scrub stream resume orders" in told
    assert not shop.differences()
