# SPDX-License-Identifier: Apache-2.0
"""The only way to `public`, for every store."""

from collections.abc import Callable, Mapping, Sequence

from repair.working_off import named
from scrub.stores.building import Clash, Refused


def publish_if_clean(
    gate: Callable[[], Mapping[str, int]], publish: Callable[[], Sequence[Clash]]
) -> None:
    """Publish what the gate finds clean. Raises Refused, or Unchecked."""
    gate()
    demand_none(publish())


def demand_none(clashes: Sequence[Clash]) -> None:
    """Refuse to go on if rows clash."""
    if clashes:
        raise Refused(named(clashes))
