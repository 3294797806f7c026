# SPDX-License-Identifier: Apache-2.0
"""Opens the stores of a catalog for reading."""

from typing import Any, NoReturn

from scrub.errors import RelationMismatch, UsageError
from scrub.model.table import Store
from scrub.stores.base import ReadableStore


def open_store(store: Store) -> ReadableStore:
    """The store for a description in the catalog. Nothing is read before a relation is pinned."""
    if store.unset:
        return _UnsetStore(store)
    match store.kind:
        case "delta":
            from scrub.stores.delta.store import DeltaStore

            return DeltaStore(store)
        case "postgres":
            from scrub.stores.postgres.store import PostgresStore

            return PostgresStore(store)
        case "spark":
            from scrub.stores.files.store import SparkSource

            return SparkSource(store)
    known = "delta, postgres or spark"
    raise UsageError(f"store {store.name}: there is no kind '{store.kind}'; use {known}")


class _UnsetStore:
    """A store that cannot be opened, because a variable of the environment is not set.

    It raises when something in it is used, so that other stores of the catalog stay usable.
    """

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
