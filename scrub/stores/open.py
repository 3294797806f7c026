# SPDX-License-Identifier: Apache-2.0
"""From a store of the catalog to one that can be read."""

from scrub.errors import UsageError
from scrub.model.table import Store
from scrub.stores.base import ReadableStore
from scrub.stores.unset import UnsetStore


def open_store(store: Store) -> ReadableStore:
    """The store, not yet touched: nothing is read before something is pinned."""
    if store.unset:
        return UnsetStore(store)
    match store.kind:
        case "delta":
            from scrub.stores.delta import DeltaStore

            return DeltaStore(store)
        case "postgres":
            from scrub.stores.postgres.store import PostgresStore

            return PostgresStore(store)
        case "spark":
            from scrub.stores.spark_source import SparkSource

            return SparkSource(store)
    known = "delta, postgres or spark"
    raise UsageError(f"store {store.name}: there is no kind '{store.kind}'; use {known}")
