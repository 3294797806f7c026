# SPDX-License-Identifier: Apache-2.0
"""Trials that a seed decides: what went wrong is made again by its seed, so nothing is shrunk."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def seeded_trials(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test so often, each time with another `seed`."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        drawn = given(seed=st.integers(0, 2**32))(test)
        return settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )(drawn)

    return decorate
