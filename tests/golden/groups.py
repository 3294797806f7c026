# SPDX-License-Identifier: Apache-2.0
"""A group: a ground, and the runs that stand on it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.golden.places import Place
from tests.golden.running import Run

JSON = "--format json"
TABLE = f"check table orders {JSON}"
REPAIR = "repair table orders --max-fraction 1"


@dataclass(frozen=True)
class Group:
    """A ground, and runs that find it as the earlier ones left it."""

    name: str
    ground: Callable[[Place], None]
    runs: tuple[Run, ...]
