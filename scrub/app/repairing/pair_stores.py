# SPDX-License-Identifier: Apache-2.0
"""Where the pairs of a table in key-value layout are repaired, and how repair sees the table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.catalog import Catalog
from scrub.errors import NotRepairable, UsageError
from scrub.model.defect import Defect
from scrub.model.repair import RepairPlan
from scrub.model.table import Table

if TYPE_CHECKING:
    from scrub.stores.delta.pair_repairs import DeltaPairRepairs
    from scrub.stores.postgres.repairs.pair_repairs import PostgresPairRepairs


def open_pair_repairs(catalog: Catalog, table: Table) -> "DeltaPairRepairs | PostgresPairRepairs":
    """The store of a table's pairs; says why there is none."""
    elsewhere = [index.name for index in table.indexes if index.store != table.store]
    if elsewhere:
        raise NotRepairable(
            f"index {elsewhere[0]} is in another store than table {table.name}, so a row and its "
            "pair cannot be read at the same moment",
            hint="have the system that owns the pairs write them again",
        )
    store = catalog.stores[table.store]
    match store.kind:
        case "postgres":
            from scrub.stores.postgres.repairs.pair_repairs import PostgresPairRepairs

            return PostgresPairRepairs(store)
        case "delta":
            from scrub.stores.delta.pair_repairs import DeltaPairRepairs

            return DeltaPairRepairs(store)
    raise NotRepairable(
        f"table {table.name} is in store {store.name} of kind {store.kind}, which is only read",
        hint="pairs are repaired in Delta and PostgreSQL; write these again with the system that "
        "owns them",
    )


def seen_by_repair(table: Table) -> Table:
    """The table whose indexes a store changes: of pairs, their relations."""
    if table.kv is None:
        return table
    from scrub.stores.pair_demands import pair_table

    return pair_table(table)


def demand_patchable(table: Table) -> None:
    """Pairs have no patch: whoever applies one could not judge bytes by their row."""
    if table.kv is not None:
        raise UsageError(
            f"table {table.name} is in key-value layout, of which no patch is written",
            hint="leave out --patch to see the changes, and make them with --execute",
        )


def plan_for_pairs(
    defects: Sequence[Defect],
    table: Table,
    store: object,
    siblings: Sequence[Defect] = (),
    delete_last_copies: bool = False,
) -> RepairPlan:
    """What a repair of pairs would do."""
    from repair.pair_planning import plan_pair_repair
    from scrub.stores.pair_demands import PairStore

    assert isinstance(store, PairStore), "a table of pairs is in a store of pairs"
    return plan_pair_repair(defects, table, store, siblings, delete_last_copies)
