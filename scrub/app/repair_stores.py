# SPDX-License-Identifier: Apache-2.0
"""From a table of the catalog to the store in which its indexes can be repaired."""

from typing import Protocol

from scrub.app.row_presence import RowPresence
from scrub.catalog import Catalog
from scrub.errors import UsageError
from scrub.model.table import Table
from scrub.stores.base import SessionProvider
from scrub.stores.repairing import RepairingStore


class ClosableRepairs(RepairingStore, Protocol):
    """A store that is let go of in the end."""

    def close(self) -> None: ...


class OnlyRead(UsageError):
    """The table's indexes cannot be repaired in place; a patch of them can be written."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="--patch DIR, instead of --execute, writes the changes as files"
        )


def open_repairs_or_rows(
    catalog: Catalog, table: Table, session: SessionProvider
) -> ClosableRepairs | RowPresence:
    """The store of the table's indexes; where they are only read, one that knows the rows."""
    try:
        return open_repairs(catalog, table, session)
    except OnlyRead as error:
        return RowPresence(catalog.stores[table.store], str(error), session)


def open_repairs(catalog: Catalog, table: Table, session: SessionProvider) -> ClosableRepairs:
    """The store of the table's indexes; says why there is none.

    A session is asked for only where Spark alone knows what an index's expressions mean.
    """
    if table.kv is not None:
        from scrub.app.pair_repairs import open_pair_repairs

        return open_pair_repairs(catalog, table)
    elsewhere = [i.name for i in table.indexes if not i.native and i.store != table.store]
    if elsewhere:
        raise OnlyRead(
            f"index {elsewhere[0]} is in another store than table {table.name}, so a row and its "
            "entry cannot be looked at in one moment"
        )
    store = catalog.stores[table.store]
    match store.kind:
        case "postgres":
            from scrub.stores.postgres.recovery import RecoveringPostgres

            return RecoveringPostgres(store)
        case "delta":
            from repair.spark_row_entries import entries_with_spark
            from scrub.stores.delta_recovery import RecoveringDelta

            return RecoveringDelta(store, entries_of=entries_with_spark(session))
    raise OnlyRead(
        f"table {table.name} is in store {store.name} of kind {store.kind}, which is only read"
    )
