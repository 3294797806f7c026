# SPDX-License-Identifier: Apache-2.0
"""The stores that one repair works with: that of the table, and those of its indexes."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from scrub.errors import UsageError
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.delta.writes import DeltaWriter
from scrub.stores.locations import normalise


class Lake:
    """Opens relations by the name of their store."""

    def __init__(
        self, store: Store, *others: Store, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._stores = {one.name: one for one in (*others, store)}
        self._sleep = sleep

    def open(
        self, store: str, relation: str, version: int | None = None
    ) -> AbstractContextManager[DeltaSnapshot]:
        """A version of a relation, or its latest one."""
        found = self._store(store)
        return open_snapshot(normalise(found.path or "."), relation, found.options, version)

    def latest(self, of: Index | Table) -> AbstractContextManager[DeltaSnapshot]:
        """The latest version of an index or a table."""
        return self.open(of.store, of.relation)

    def writer(self, of: Index | Table) -> DeltaWriter:
        return DeltaWriter(self._store(of.store), self._sleep)

    def _store(self, name: str) -> Store:
        found = self._stores.get(name)
        if found is None or found.kind != "delta":
            raise UsageError(
                f"store {name} is no lake that these repairs were given",
                hint="an index is repaired where its table is in a lake, too",
            )
        return found
