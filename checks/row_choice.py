# SPDX-License-Identifier: Apache-2.0
"""How `--where` chooses the entries of an index: by what they hold, or by the rows they belong to.

A condition on columns that identify an entry chooses rows and entries alike, and both sides are
compared in full. Any other column says nothing about entries: one that an index stores may hold a
wrong value there, which would leave the entry out on one side only. Then the condition chooses
rows, and the entries that are looked at are those with the primary key of a chosen row. An entry
whose row is gone is never among them: dangling entries are not looked for.
"""

from checks.pruning import pruned
from scrub.catalog.conjuncts import demanded
from scrub.catalog.expressions import columns_used
from scrub.model.defect import DefectKind
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Index, Table
from scrub.model.types import ColumnType

NOT_BY_ROWS = (DefectKind.DANGLING,)
"""What cannot be found where entries are chosen by the rows they belong to."""


def beyond_entries(where: str | None, table: Table, index: Index) -> tuple[str, ...]:
    """The columns that a condition uses and that do not identify an entry of the index."""
    if where is None:
        return ()
    identifying = _identifying(index)
    return tuple(name for name in columns_used(where, table.types) if name not in identifying)


def not_looked_for(where: str | None, table: Table, index: Index) -> tuple[DefectKind, ...]:
    """What a check of the index with this condition cannot find."""
    return NOT_BY_ROWS if beyond_entries(where, table, index) else ()


def told(where: str | None, table: Table, index: Index) -> tuple[str, ...]:
    """The same as a note."""
    beyond = beyond_entries(where, table, index)
    if not beyond:
        return ()
    verb = "does" if len(beyond) == 1 else "do"
    return (
        f"dangling entries not looked for: --where uses {', '.join(beyond)}, which {verb} not "
        "identify entries of this index, so entries were found by the primary keys of rows",
    )


def pruned_rows(
    facts: RelationFacts, where: str | None, table: Table
) -> tuple[RelationFacts, tuple[Split, ...]]:
    """The table without splits of which `--where` chooses no row."""
    condition = demanded(where, table.types) if where else None
    return pruned(facts, condition, table.types)


def pruned_entries(
    facts: RelationFacts, where: str | None, table: Table, index: Index
) -> tuple[RelationFacts, tuple[Split, ...]]:
    """The index without splits in which no entry of a chosen row can be, if it is where it belongs.

    Only columns that identify an entry tell: another value there makes it another entry.
    """
    condition = demanded(where, table.types) if where else None
    return pruned(facts, condition, _identifying(index))


def _identifying(index: Index) -> dict[str, ColumnType]:
    """The columns of the table by which entries are told apart; an expression is none of them."""
    columns = index.key + index.suffix
    return {c.name: c.type for c in columns if not c.is_expression and c.type is not None}
