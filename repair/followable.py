# SPDX-License-Identifier: Apache-2.0
"""Which relations can be followed, and which would be followed wrong."""

from scrub.errors import RelationMismatch
from scrub.model.table import Index, Table
from scrub.model.types import widens
from scrub.stores.delta import column_type
from scrub.stores.delta_changes import CannotFollow
from scrub.stores.delta_features import unsupported
from scrub.stores.delta_marks import BuildState, build_state
from scrub.stores.delta_snapshot import DeltaSnapshot
from scrub.stores.row_entries import table_columns


def require_staying(snapshot: DeltaSnapshot) -> None:
    """Refuse an index of which parts may be gone already."""
    if build_state(snapshot) is BuildState.REMOVING:
        raise CannotFollow(
            f"Delta table {snapshot.relation} is being removed",
            hint="cancel or drop the index again, until it is gone",
        )


def require_readable(snapshot: DeltaSnapshot, table: Table, index: Index) -> None:
    """Refuse by name a table whose files do not tell its rows, or that lacks a column."""
    if reason := unsupported(snapshot.table):
        raise CannotFollow(f"Delta table {snapshot.relation} cannot be followed: it {reason}")
    stored = {field.name: column_type(field.type) for field in snapshot.table.schema().fields}
    for column in table_columns(table, index):
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
