# SPDX-License-Identifier: Apache-2.0
"""The check of values and bytes: what no row and no pair can rightly hold.

`checks.column_faults` judges the values of columns, `checks.pairs.judging` adds up what tasks found
wrong in pairs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checks.check import SqlFault, TableCheck
from checks.column_faults import Fault, count_faults, faults_in, null_fault
from checks.part_faults import FaultCounts
from scrub.model.constraint import NOT_NULL
from scrub.model.defect import PHYSICAL_KINDS, Defect, DefectKind, Value
from scrub.model.plan import TablePlan
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import Engine
from scrub.model.table import Column, Table
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch


class PhysicalCheck(TableCheck):
    """Every stored value and every pair of bytes is one that its column or its key can have."""

    name = "physical"
    finds = PHYSICAL_KINDS
    judges_types = True

    def is_default_for(self, table: Table) -> bool:
        """Pairs are decoded whatever is checked; of columns, the index check reads only some."""
        return table.kv is not None

    def refusal(self, table: Table) -> str | None:  # noqa: ARG002
        """Pairs are judged as well, by the source that decodes them."""
        return None

    def columns(self, table: Table) -> tuple[str, ...]:
        """All that is stored."""
        return tuple(column.name for column in table.columns if column.computed is None)

    def look(self, table: Table) -> "PhysicalLook":
        return PhysicalLook(tuple(_never_null_in_key(table, n) for n in self.columns(table)))

    def sql_faults(self, table: Table, readable: Sequence[str]) -> Sequence[SqlFault]:
        """NULLs only: Spark's readers hide what else may be wrong with a value.

        They replace bytes that are not UTF-8, and turn numbers that do not fit into NULL or raise.
        """
        from scrub.spark.names import named

        columns = (_never_null_in_key(table, name) for name in readable)
        return [
            SqlFault(c.name, DefectKind.NULL_VIOLATION, named(c.name).isNull(), null_fault(c.name))
            for c in columns
            if not c.nullable
        ]

    def needs_spark(self, facts: RelationFacts) -> str | None:
        if any(split.kind is SplitKind.POSTGRES for split in facts.splits):
            return "a server shows values, not how they are stored"
        return super().needs_spark(facts)

    def dressed(self, defect: Defect, shown: Mapping[str, Value]) -> Defect:  # noqa: ARG002
        """A NULL is the same defect, whichever check looked for it."""
        if defect.kind is not DefectKind.NULL_VIOLATION:
            return defect
        return replace(defect, constraint=NOT_NULL)

    def notes(self, plan: TablePlan) -> tuple[str, ...]:
        if plan.side.engine is not Engine.SQL:
            return ()
        return (
            f"Spark read the values ({plan.side.reason}): only NULLs and the types of whole "
            "columns were checked",
        )


@dataclass(frozen=True, slots=True)
class PhysicalLook:
    """A look at every value of some columns; in one that is not nullable, NULL is a defect."""

    columns: tuple[Column, ...]

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:  # noqa: ARG002
        return {
            (column.name, kind): number
            for column in self._present(stored)
            for kind, number in count_faults(stored.arrays[column.name], column).items()
        }

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:  # noqa: ARG002
        for column in self._present(stored):
            array = stored.arrays[column.name]
            if count_faults(array, column):
                yield from faults_in(array, column)

    def _present(self, stored: StoredBatch) -> Iterator[Column]:
        """The columns that the file holds as the catalog says."""
        return (column for column in self.columns if column.name in stored.arrays)


def _never_null_in_key(table: Table, name: str) -> Column:
    """A column; one of the primary key is never NULL, whatever the catalog says of it."""
    column = table.column(name)
    return replace(column, nullable=False) if name in table.primary_key else column
