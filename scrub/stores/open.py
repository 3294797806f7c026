# SPDX-License-Identifier: Apache-2.0
"""Opens the stores of a catalog for reading."""

from scrub.errors import UsageError
from scrub.model.table import Store
from scrub.stores.base import ReadableStore
from scrub.stores.unset import UnsetStore


def open_store(store: Store) -> ReadableStore:
    """The store for a description in the catalog. Nothing is read before a relation is pinned."""
    if store.unset:
        return UnsetStore(store)
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
