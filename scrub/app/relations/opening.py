# SPDX-License-Identifier: Apache-2.0
"""Opening relations as checks do: each once, and Spark only for those that nothing else can."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrub.app.checking.table_errors import spoken_by_spark
from scrub.app.relations.findings import RelationsReport
from scrub.catalog import Catalog
from scrub.catalog.lines import CatalogLines
from scrub.errors import AccessDenied, ScrubError
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.stores.base import ReachableStore, ReadableStore, SessionProvider
from scrub.stores.locations import is_local
from scrub.stores.open import open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMED_MAX = 3


@dataclass(slots=True)
class Opener:
    """Pins relations at their latest snapshot; what is wrong with a whole store is said once."""

    stores: Mapping[str, ReadableStore]
    session: SessionProvider
    report: RelationsReport
    closed: set[str] = field(default_factory=set)  # stores of which nothing can be opened

    def facts(
        self, line: int, store: str, relation: str, columns: Sequence[Column]
    ) -> RelationFacts | None:
        """What a relation is; None in a store that is closed. Raises what is wrong with it."""
        if store in self.closed:
            return None
        facts = self.pinned(store, relation, None, columns)
        self.report.opened += 1
        self._demand_readable(line, facts)
        return facts

    def pinned(
        self, store: str, relation: str, as_of: AsOf | None, columns: Sequence[Column]
    ) -> RelationFacts:
        """The relation at a version, or the latest; raises what is wrong with it."""

        def session() -> "SparkSession":
            if relation not in self.report.by_spark:
                self.report.by_spark.append(relation)
            return self.session()

        with spoken_by_spark(relation):
            return self.stores[store].pin(relation, as_of, session, columns)

    def _demand_readable(self, line: int, facts: RelationFacts) -> None:
        """Pinning reads what describes a relation; its data files may be another user's."""
        files = dict.fromkeys(split.uri for split in facts.splits if _is_denied(split.uri))
        if not files:
            return
        named = ", ".join(list(files)[:_NAMED_MAX])
        more = f" and {len(files) - _NAMED_MAX:,} more" if len(files) > _NAMED_MAX else ""
        self.report.add(
            line,
            AccessDenied(
                f"no permission to read files of {facts.relation}: {named}{more}",
                hint="let the user that scrub runs as read them",
            ),
        )


@contextmanager
def opened_stores(
    catalog: Catalog, lines: CatalogLines, session: SessionProvider, report: RelationsReport
) -> Iterator[Opener]:
    """The stores of a catalog that tables or indexes are in, tried before they are asked."""
    with ExitStack() as stack:
        stores = {}
        for name, store in catalog.stores.items():
            stores[name] = stack.enter_context(closing(open_store(store)))
        opener = Opener(stores, session, report)
        for name in dict.fromkeys(_used(catalog)):
            try:
                _reach(stores[name])
            except ScrubError as error:
                report.add(lines.of("stores", name, _place(catalog.stores[name])), error)
                opener.closed.add(name)
        yield opener


def _reach(store: ReadableStore) -> None:
    if isinstance(store, ReachableStore):
        store.reach()


def _used(catalog: Catalog) -> Iterator[str]:
    for table in catalog.tables.values():
        yield table.store
        yield from (index.store for index in table.indexes)


def _place(store: Store) -> str:
    return "url" if store.kind == "postgres" else "path"


def _is_denied(uri: str) -> bool:
    return is_local(uri) and os.access(uri, os.F_OK) and not os.access(uri, os.R_OK)
