# SPDX-License-Identifier: Apache-2.0
"""Constraints that a row keeps or violates by itself, as checks that ride in a scan.

NOT NULL and CHECK need nothing but the row. A foreign key joins them once the keys of its parent
are held by the task.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checks.check import SqlFault, TableCheck
from checks.column_faults import Fault, null_fault
from checks.constraints.plan import judged_columns
from checks.part_faults import FaultCounts
from checks.table_look import TableLook
from scrub.catalog.native_terms import native_condition
from scrub.codec.json_values import key_value
from scrub.codec.predicate import evaluate
from scrub.model.constraint import DEFECT_KINDS, Constraint, ConstraintKind
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.predicate import Node
from scrub.model.table import Column, Table
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch

KEPT_IN_KEYS = (ConstraintKind.UNIQUE, ConstraintKind.FOREIGN_KEY)


class RowConstraint(TableCheck):
    """One constraint of one table, judged row by row."""

    finds = tuple(DEFECT_KINDS.values())

    def __init__(
        self,
        table: Table,
        constraint: Constraint,
        probe: TableLook | None = None,
        undecided: tuple[Column, ...] = (),
    ):
        self.name = riding_name(table, constraint)
        self.constraint = constraint
        self.probe = probe  # of a foreign key, which looks for its values among held keys
        self.undecided = undecided  # columns of which an infinite time leaves a row undecided

    def columns(self, table: Table) -> tuple[str, ...]:
        return judged_columns(table, self.constraint)

    def look(self, table: Table) -> TableLook:
        columns = tuple(map(table.column, self.columns(table)))
        if self.probe is not None:
            return self.probe
        if self.constraint.condition is None:
            return NotNullLook(columns)
        node = native_condition(self.constraint.condition, table)
        assert node is not None, "the plan gave tasks what only Spark evaluates"
        return ConditionLook(columns, self.constraint.name, node, is_false(self.constraint))

    def sql_faults(self, table: Table, readable: Sequence[str]) -> Sequence[SqlFault]:
        """The same in the words of Spark SQL."""
        from pyspark.sql import functions as F

        from scrub.spark.names import named

        if self.constraint.condition is None:
            names = [name for name in self.columns(table) if name in readable]
            kind = DefectKind.NULL_VIOLATION
            return [SqlFault(n, kind, named(n).isNull(), null_fault(n)) for n in names]
        condition = F.coalesce(~F.expr(self.constraint.condition), F.lit(False))
        if self.undecided:
            from checks.constraints.endless_times import is_endless

            condition = F.when(is_endless(self.undecided), F.lit(False)).otherwise(condition)
        detail, kind = is_false(self.constraint), DefectKind.CHECK_VIOLATION
        return [SqlFault(self.constraint.name, kind, condition, detail, self.shown(table))]

    def shown(self, table: Table) -> tuple[Column, ...]:
        if self.constraint.kind is ConstraintKind.NOT_NULL:
            return ()
        return tuple(map(table.column, self.columns(table)))

    def dressed(self, defect: Defect, shown: Mapping[str, Value]) -> Defect:
        return dressed(defect, self.constraint, shown)


def riding_name(table: Table, constraint: Constraint) -> str:
    """What the constraint is called among the checks of a run; names may contain dots."""
    return f"constraint {table.name!r}.{constraint.name!r}"


def is_false(constraint: Constraint) -> str:
    """What is wrong with a row that violates a CHECK, in every engine's words."""
    return f"{constraint.condition} is false"


def dressed(defect: Defect, constraint: Constraint, shown: Mapping[str, Value]) -> Defect:
    """A violation with the constraint's name, and the values that it is judged by."""
    if constraint.kind is ConstraintKind.NOT_NULL:
        return replace(defect, constraint=constraint.name)
    told = replace(defect, constraint=constraint.name, column=None)
    if constraint.kind in KEPT_IN_KEYS:
        of_key = {name: key_value(value) for name, value in shown.items()}
        # Not every way to look at keys reads the whole row, and ids must not depend on the way.
        return replace(told, index_key=of_key, row_digest=None)
    return replace(told, actual=shown or None)


@dataclass(frozen=True, slots=True)
class NotNullLook:
    """A look for NULLs in columns that never are."""

    columns: tuple[Column, ...]

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:
        kind = DefectKind.NULL_VIOLATION
        numbers = {c.name: int(self._array(c, stored, reader).null_count) for c in self.columns}
        return {(name, kind): number for name, number in numbers.items() if number}

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:
        for column in self.columns:
            array = self._array(column, stored, reader)
            if array.null_count:
                rows = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
                detail = null_fault(column.name)
                for row in rows:
                    yield Fault(int(row), DefectKind.NULL_VIOLATION, column.name, detail)

    def _array(self, column: Column, stored: StoredBatch, reader: SplitReader) -> Any:
        if column.name not in stored.arrays:
            reader.converted(stored, (column,))  # says what the file holds instead
        return stored.arrays[column.name]


@dataclass(frozen=True, slots=True)
class ConditionLook:
    """A look for rows for which a condition is false; NULL is not false."""

    columns: tuple[Column, ...]
    subject: str
    node: Node
    detail: str

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:
        values = self._values(stored, reader)
        number = len(values) - values.null_count - (pc.sum(values).as_py() or 0)
        return {(self.subject, DefectKind.CHECK_VIOLATION): number} if number else {}

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:
        false = pc.invert(self._values(stored, reader)).fill_null(False)
        for row in np.flatnonzero(false.to_numpy(zero_copy_only=False)):
            yield Fault(int(row), DefectKind.CHECK_VIOLATION, self.subject, self.detail)

    def _values(self, stored: StoredBatch, reader: SplitReader) -> Any:
        return evaluate(self.node, reader.converted(stored, self.columns))
