# SPDX-License-Identifier: Apache-2.0
"""The error for an index whose table is there and whose own relation is not."""

from collections.abc import Mapping

from scrub.errors import RelationMismatch, RelationMissing
from scrub.model.command_line import backfill_line, command_line
from scrub.model.table import Index, Table


def not_built(
    table: Table, index: Index, missing: RelationMissing, kinds: Mapping[str, str], *, choose: bool
) -> RelationMismatch:
    """Most likely nobody has built it yet; `kinds` are those of the stores.

    With `choose`, other indexes of the table could be chosen instead.
    """
    of_table = kinds[table.store]
    here = of_table == "postgres" and index.store == table.store
    if here or of_table == kinds[index.store] == "delta":
        hint = f"build it with: {backfill_line('run', table, index.name, '--execute')}"
    elif table.changes is not None and of_table == kinds[index.store] == "postgres":
        run = command_line("stream run", table.name, index.name, catalog=table.catalog)
        hint = f"build it with: {run} --execute"
    else:
        hint = "build it with whatever writes the table"
    if choose and len(table.indexes) > 1:
        hint += "; or choose others with --index"
    known = {table.relation, *(other.relation for other in table.indexes)}
    if missing.near is not None and missing.near not in known:
        hint = f"{missing.hint} Else {hint}"
    return RelationMismatch(
        f"index {index.name} of table {table.name} is not there: {missing}", hint=hint
    )
