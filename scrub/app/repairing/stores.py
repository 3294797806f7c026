# SPDX-License-Identifier: Apache-2.0
"""From a table of the catalog to the store in which its indexes can be repaired."""

from pathlib import Path
from typing import Protocol

from repair.refusals import REFUSED
from scrub.app.repairing.row_presence import RowPresence
from scrub.catalog import Catalog, load_catalog
from scrub.errors import NotRepairable
from scrub.model.result import RunResult
from scrub.model.table import Store, Table
from scrub.stores.base import SessionProvider
from scrub.stores.directories import demand_directory
from scrub.stores.repairing import RepairingStore

_REPAIRED_KINDS = ("postgres", "delta")


class ClosableRepairs(RepairingStore, Protocol):
    """A store that is let go of in the end."""

    def close(self) -> None: ...


class OnlyRead(NotRepairable):
    """The table's indexes cannot be repaired in place; a patch of them can be written."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="--patch DIR, instead of --execute, writes the changes as files"
        )


def repairable_tables(path: Path, result: RunResult) -> list[str]:
    """Tables with defects that `scrub repair table` can do something about, where they are."""
    catalog = load_catalog(path)
    return [
        found.table
        for found in result.tables
        if (table := catalog.tables.get(found.table)) is not None
        and catalog.stores[table.store].kind in _REPAIRED_KINDS
        and not _elsewhere(table)
        and any(table.kv or kind not in REFUSED for one in found.checks for kind in one.counts)
    ]


def _elsewhere(table: Table) -> list[str]:
    return [i.name for i in table.indexes if not i.is_own and i.store != table.store]


def _store_of(catalog: Catalog, table: Table) -> Store:
    """The table's store; a server evaluates in the table's time zone."""
    return catalog.stores[table.store].in_time_zone(table.time_zone)


def open_repairs_or_rows(
    catalog: Catalog, table: Table, session: SessionProvider
) -> ClosableRepairs | RowPresence:
    """The store of the table's indexes; where they are only read, one that knows the rows."""
    try:
        return open_repairs(catalog, table, session)
    except OnlyRead as error:
        return RowPresence(_store_of(catalog, table), str(error), session, catalog.stores)


def open_repairs(catalog: Catalog, table: Table, session: SessionProvider) -> ClosableRepairs:
    """The store of the table's indexes; says why there is none.

    A session is asked for only where Spark alone knows what an index's expressions mean.
    """
    if elsewhere := _elsewhere(table):
        what = "entry" if table.kv is None else "pair"
        raise _refused(
            table,
            f"index {elsewhere[0]} is in another store than table {table.name}, so a row and its "
            f"{what} cannot be read at the same moment",
            "have the system that owns the pairs write them again",
        )
    store = _store_of(catalog, table)
    if store.kind == "delta":
        demand_directory(store, catalog.path)
    match store.kind, table.kv is not None:
        case "postgres", False:
            from scrub.stores.postgres.repairs.recovery import RecoveringPostgres

            return RecoveringPostgres(store)
        case "delta", False:
            from scrub.stores.delta.entry_making import entries_with_spark
            from scrub.stores.delta.recovery import RecoveringDelta

            return RecoveringDelta(store, entries_of=entries_with_spark(session))
        case "postgres", True:
            from scrub.stores.postgres.repairs.pair_repairs import PostgresPairRepairs

            return PostgresPairRepairs(catalog.stores[table.store])
        case "delta", True:
            from scrub.stores.delta.pair_repairs import DeltaPairRepairs

            return DeltaPairRepairs(store)
    raise _refused(
        table,
        f"table {table.name} is in store {store.name} of kind {store.kind}, which is only read",
        "pairs are repaired in Delta and PostgreSQL; write these again with the system that owns "
        "them",
    )


def _refused(table: Table, why: str, hint_for_pairs: str) -> NotRepairable:
    """What columns hold can be written as a patch, pairs cannot."""
    return OnlyRead(why) if table.kv is None else NotRepairable(why, hint=hint_for_pairs)


def seen_by_repair(table: Table) -> Table:
    """The table whose indexes a store changes: of pairs, their relations."""
    if table.kv is None:
        return table
    from scrub.stores.pair_demands import pair_table

    return pair_table(table)
