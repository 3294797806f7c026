# SPDX-License-Identifier: Apache-2.0
"""A store that cannot be opened, because a variable of the environment is not set."""

from typing import Any, NoReturn

from scrub.errors import RelationMismatch
from scrub.model.table import Store


class UnsetStore:
    """Raises when something in it is used, so that other stores of the catalog stay usable."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self._variables = store.unset

    def pin(self, *_: Any) -> NoReturn:
        """Never succeeds."""
        name = self._variables[0]
        raise RelationMismatch(
            f"store {self.name}: the environment variable {name} is not set",
            hint=f"set it: export {name}=...",
        )

    def frame(self, *_: Any) -> NoReturn:
        """Nobody has pinned anything here."""
        self.pin()

    def close(self) -> None:
        """Nothing was opened."""
