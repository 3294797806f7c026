# SPDX-License-Identifier: Apache-2.0
"""The stores of one table: its own, and those of its indexes."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from scrub.errors import UsageError
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.delta.writes import DeltaWriter
from scrub.stores.locations import join, normalise


class Lake:
    """Opens relations by the name of their store."""

    def __init__(self, store: Store, *others: Store) -> None:
        self._stores = {one.name: one for one in (*others, store)}

    def open(
        self, store: str, relation: str, version: int | None = None
    ) -> AbstractContextManager[DeltaSnapshot]:
        """A version of a relation, or its latest one."""
        found = self.store(store)
        return open_snapshot(normalise(found.path or "."), relation, found.options, version)

    def latest(self, of: Index | Table) -> AbstractContextManager[DeltaSnapshot]:
        """The latest version of an index or a table."""
        return self.open(of.store, of.relation)

    def place(self, of: Index | Table) -> tuple[str, Mapping[str, str]]:
        """Where an index or a table is, and the options to open it with."""
        found = self.store(of.store)
        return join(normalise(found.path or "."), of.relation), found.options

    def writer(self, of: Index | Table) -> DeltaWriter:
        return DeltaWriter(self.store(of.store))

    def store(self, name: str) -> Store:
        """The store of that name, which must be one of Delta."""
        found = self._stores.get(name)
        if found is None or found.kind != "delta":
            raise UsageError(
                f"store {name} is no lake that these repairs were given",
                hint="an index is repaired where its table is in a lake, too",
            )
        return found
