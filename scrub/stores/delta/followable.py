# SPDX-License-Identifier: Apache-2.0
"""Which relations can be followed; others are refused, not followed wrongly."""

from scrub.errors import RelationMismatch
from scrub.model.table import Index, Table
from scrub.model.types import widens
from scrub.stores.delta.changes import CannotFollow
from scrub.stores.delta.features import unsupported
from scrub.stores.delta.marks import BuildState, build_state
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.store import column_type
from scrub.stores.row_entries import columns_for_entries


def require_not_removing(snapshot: DeltaSnapshot) -> None:
    """Refuse an index that is being removed: parts of it may be gone already."""
    if build_state(snapshot) is BuildState.REMOVING:
        raise CannotFollow(
            f"Delta table {snapshot.relation} is being removed",
            hint="cancel or drop the index again, until it is gone",
        )


def require_readable(snapshot: DeltaSnapshot, table: Table, index: Index) -> None:
    """Refuse a table that lacks a column, or whose rows its files alone do not determine."""
    if reason := unsupported(snapshot.table):
        raise CannotFollow(f"Delta table {snapshot.relation} cannot be followed: it {reason}")
    stored = {field.name: column_type(field.type) for field in snapshot.table.schema().fields}
    for column in columns_for_entries(table, index):
        if column.name not in stored:
            raise RelationMismatch(
                f"table {table.name}: relation {snapshot.relation} has no column {column.name}",
                hint="correct the catalog, or the relation",
            )
        there = stored[column.name]
        if there is None or not widens(there, column.type):
            raise RelationMismatch(
                f"table {table.name}: column {column.name} of {snapshot.relation} is stored as "
                f"{there or 'a type scrub cannot compare'}, the catalog says {column.type}",
                hint="correct the catalog, or the relation",
            )
