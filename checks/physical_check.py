# SPDX-License-Identifier: Apache-2.0
"""The check of values and bytes: what no row and no pair can rightly hold.

`checks.physical` counts and names it in tables of columns, `checks.pairs.judging` in pairs.
"""

from collections.abc import Sequence
from dataclasses import replace

from checks.check import Check
from checks.numbering import Relation
from checks.scan_spec import PhysicalSpec
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition
from scrub.model.defect import PHYSICAL_KINDS
from scrub.model.plan import TablePlan
from scrub.model.predicate import Node
from scrub.model.request import Engine
from scrub.model.table import Column, Index, Table


class PhysicalCheck(Check):
    """Every stored value and every pair of bytes is one that its column or its key can have."""

    name = "physical"
    finds = PHYSICAL_KINDS

    def is_default_for(self, table: Table) -> bool:
        """Pairs are decoded whatever is checked; of columns, the index check reads only some."""
        return table.kv is not None

    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:  # noqa: ARG002
        return (None,)

    def columns(
        self,
        table: Table,
        indexes: Sequence[Index],  # noqa: ARG002
        where: str | None = None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """All that is stored."""
        return tuple(column.name for column in table.columns if column.computed is None)

    def adds_up(
        self,
        relation: Relation,
        slots: frozenset[int] = frozenset(),  # noqa: ARG002
    ) -> PhysicalSpec | None:
        """What to look at beside entries, if the relation is a table whose values are checked."""
        plan, table = relation.table, relation.table.table
        if plan.physical is None or not relation.is_table:
            return None
        conditions: tuple[Node, ...] = ()
        if plan.where and (condition := native_condition(plan.where, table)) is not None:
            conditions = (condition,)
        return PhysicalSpec(
            columns=tuple(never_null_in_key(table, name) for name in plan.physical.columns),
            conditions=conditions,
            condition_columns=tuple(table.column(name) for name in columns_of_where(plan)),
        )

    def notes(self, plan: TablePlan) -> tuple[str, ...]:
        if plan.pairs is not None or plan.side.engine is not Engine.SQL:
            return ()
        return (
            f"Spark read the values ({plan.side.reason}): only NULLs and the types of whole "
            "columns were checked",
        )


def never_null_in_key(table: Table, name: str) -> Column:
    """A column; one of the primary key is never NULL, whatever the catalog says of it."""
    column = table.column(name)
    return replace(column, nullable=False) if name in table.primary_key else column


def columns_of_where(plan: TablePlan) -> tuple[str, ...]:
    """What the condition that limits a check speaks of."""
    names = [column.name for column in plan.table.columns]
    return tuple(columns_used(plan.where, names)) if plan.where else ()
