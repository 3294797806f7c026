# SPDX-License-Identifier: Apache-2.0
"""Which table and indexes a command on Delta indexes means."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.stored_types import with_types_of_relation
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import UsageError
from scrub.model.table import Index, Table
from scrub.stores.base import SessionProvider, no_session
from scrub.stores.directories import demand_directory

if TYPE_CHECKING:
    from scrub.stores.delta.building import DeltaBuild


def select_table(path: Path, table: str) -> tuple[Catalog, Table]:
    """A table of the catalog that has versions to follow."""
    catalog = load_catalog(path)
    chosen = catalog.table(table)
    _require_followable(catalog, chosen)
    return catalog, chosen


def _require_followable(catalog: Catalog, table: Table) -> None:
    store = catalog.stores[table.store]
    if store.kind != "delta":
        raise UsageError(
            f"table {table.name} is in store {store.name} of kind {store.kind}, which has no "
            "versions that an index could follow"
        )
    if table.kv is not None:
        raise UsageError(f"table {table.name} is in key-value layout: its indexes cannot follow it")
    demand_directory(store, catalog.path)


def select(path: Path, table: str, indexes: Sequence[str]) -> tuple[Catalog, Table, list[Index]]:
    """The table and its indexes: those named, or else all that are in Delta themselves."""
    catalog, chosen = select_table(path, table)
    return catalog, chosen, delta_indexes(catalog, chosen, indexes)


def delta_indexes(catalog: Catalog, table: Table, names: Sequence[str]) -> list[Index]:
    """The indexes of a table that follow it or could: those named, or else all in Delta."""
    _require_followable(catalog, table)
    in_delta = {i.name: i for i in table.indexes if catalog.stores[i.store].kind == "delta"}
    known = [index.name for index in table.indexes]
    for name in names:
        if name not in known:
            raise UsageError(
                f"table {table.name} has no index {name}", hint=did_you_mean(name, known, "indexes")
            )
        if name not in in_delta:
            raise UsageError(
                f"index {name} of {table.name} is in a store that is not of kind delta"
            )
    if not in_delta:
        raise UsageError(f"table {table.name} has no indexes in Delta")
    return [in_delta[name] for name in dict.fromkeys(names)] or list(in_delta.values())


def build_of(
    catalog: Catalog, table: Table, index: Index, session: SessionProvider = no_session
) -> "DeltaBuild":
    from scrub.stores.delta.building import DeltaBuild
    from scrub.stores.delta.lake import Lake

    return DeltaBuild(
        table=table,
        index=with_types_of_relation(catalog, index, session),
        lake=Lake(catalog.stores[table.store], catalog.stores[index.store]),
        session=session,
    )
