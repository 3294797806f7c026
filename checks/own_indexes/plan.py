# SPDX-License-Identifier: Apache-2.0
"""What a check of one of the database's own indexes would read, and what keeps it from doing so."""

from checks.own_indexes.findings import OwnIndexFindings
from checks.own_indexes.index import find_own_index, why_not_applicable
from checks.registry import INDEX
from scrub.model.plan import NotChecked, OwnIndexPlan
from scrub.model.table import Index, Table
from scrub.stores.postgres.own_indexes.description import OwnIndex, leaf_indexes
from scrub.stores.postgres.own_indexes.reader import OwnIndexReader
from scrub.stores.postgres.store import PostgresStore

ALL_READINGS = "entries, then rows, at one snapshot"
ROWS_ONLY = (
    "heap reading only, since it has expressions: entries are seen through their rows, and each "
    "row is searched for by its key"
)
CONTENTS_ONLY = (
    "contents only: row locations are visible only to a role that may read the whole table"
)


def plan_own_index(
    store: PostgresStore, table: Table, index: Index, rows: int | None
) -> OwnIndexPlan | NotChecked:
    """The readings of an index, or why there will be none; reads no row."""
    described = find_own_index(store, table, index)
    leaves = leaf_indexes(store.snapshot.connection, described)
    state = OwnIndexFindings()
    state.find_unusable(described)
    for leaf in leaves:
        if not state.find_unusable(leaf):
            state.find_hidden(leaf)
    reason = why_not_applicable(described)
    if reason or state.incomplete:
        return NotChecked(
            table=table.name,
            check=INDEX.name,
            index=index.name,
            reason=reason or "; ".join([str(state.incomplete), *state.notes, *state.remedies]),
            incomplete=reason is None,
        )
    return OwnIndexPlan(
        table=table.name,
        index=index.name,
        reading=_reading(store, leaves),
        rows=rows,
        notes=tuple(state.notes),
    )


def _reading(store: PostgresStore, leaves: tuple[OwnIndex, ...]) -> str:
    """What is read; the planner is asked whether it gives entries of expressions."""
    readers = [OwnIndexReader(store.conninfo, store.snapshot.identifier, leaf) for leaf in leaves]
    reading = ROWS_ONLY if any(reader.unheld for reader in readers) else ALL_READINGS
    return reading if all(leaf.is_readable for leaf in leaves) else f"{reading}; {CONTENTS_ONLY}"
