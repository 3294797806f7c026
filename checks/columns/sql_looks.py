# SPDX-License-Identifier: Apache-2.0
"""Checks of whole tables where Spark reads: faults by conditions, types by the schema."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from checks.check import SqlFault, TableCheck
from checks.fault_rows import row_columns
from checks.numbering import Relation
from checks.part_faults import PartFaults
from checks.specs import is_looked_at
from scrub.model.table import Column
from scrub.model.types import widens
from scrub.spark.lazily import F
from scrub.spark.names import named
from scrub.spark.text import as_told_text

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, Row

_ROWS = "rows"


@dataclass(frozen=True, slots=True)
class SqlLook:
    """What a check looks at in one table that Spark reads."""

    relation: Relation
    columns: tuple[Column, ...]  # those that the relation holds in a type that fits the catalog's
    misfits: Mapping[str, str]  # the others, and what the relation says of them
    faults: Sequence[SqlFault]

    @classmethod
    def of(cls, check: TableCheck, relation: Relation) -> "SqlLook":
        plan, misfits = relation.table.of_check(check.name), misfits_of(check, relation)
        assert plan is not None, "only what was planned is looked at"
        names = [name for name in plan.columns if name not in misfits]
        table = relation.table.table
        columns = tuple(map(table.column, names))
        return cls(relation, columns, misfits, check.sql_faults(table, names))

    def counted(self, rows: "DataFrame") -> "DataFrame":
        """One row: how many rows there are, how many of them have each fault.

        All columns are counted, also those without a condition: what cannot be read must show.
        """
        values = [F.count(named(c.name)).alias(f"values{i}") for i, c in enumerate(self.columns)]
        faults = [F.count_if(of.condition).alias(f"faults{i}") for i, of in enumerate(self.faults)]
        chosen = rows.where(is_looked_at(self.relation.table.where))
        return chosen.agg(F.count(F.lit(1)).alias(_ROWS), *values, *faults)

    def as_faults(self, counted: "Row") -> PartFaults:
        """What `counted` found."""
        numbers = {(of.subject, of.kind): counted[f"faults{i}"] for i, of in enumerate(self.faults)}
        return PartFaults(
            rows=counted[_ROWS],
            counts={of: number for of, number in numbers.items() if number},
            misfits=tuple(sorted(self.misfits)),
        )

    def named(self, rows: "DataFrame") -> "DataFrame":
        """A row for each fault, as checks.fault_rows.FAULT_SCHEMA."""
        table, readable = self.relation.table.table, {c.name for c in self.columns_to_name}
        key = [_text_of(table.column(name), readable) for name in table.primary_key]
        row = F.array(*(_text_of(column, readable) for column in row_columns(table)))
        keyless = reduce(or_, (text.isNull() for text in key))
        found = [F.when(of.condition, _described(of)) for of in self.faults]
        return (
            rows.where(is_looked_at(self.relation.table.where))
            .select(
                F.array(*key).alias("primary_key"),
                F.when(keyless, row).alias("row"),
                F.explode(F.array_compact(F.array(*found))).alias("fault"),
            )
            .select(
                F.lit(-1).alias("part"),
                F.lit(0).cast("bigint").alias("place"),
                "fault.kind",
                "fault.column",
                "primary_key",
                "fault.detail",
                F.lit(None).cast("string").alias("value_hex"),
                F.lit(None).cast("string").alias("stored_type"),
                "row",
                "fault.shown",
            )
        )

    @property
    def columns_to_name(self) -> tuple[Column, ...]:
        """What `named` reads: also what identifies a row whose key does not."""
        facts, looked_at = self.relation.side.facts, {column.name for column in self.columns}
        others = [
            column
            for column in row_columns(self.relation.table.table)
            if column.name not in looked_at
            and (stored := facts.columns.get(column.name)) is not None
            and widens(stored, column.type)
        ]
        return (*self.columns, *others)


def misfits_of(check: TableCheck, relation: Relation) -> dict[str, str]:
    """Columns that the relation as a whole holds in another type, and what it says of them."""
    facts, found = relation.side.facts, {}
    for name in check.columns(relation.table.table):
        stored, wanted = facts.columns[name], relation.table.table.column(name).type
        if stored is None or not widens(stored, wanted):
            what = stored or "a type that cannot be compared"
            found[name] = f"column {name} of {facts.relation} is stored as {what}, not {wanted}"
    return found


def _text_of(column: Column, readable: Collection[str]) -> "Expression":
    if column.name not in readable:
        return F.lit(None).cast("string")
    return as_told_text(named(column.name), column.type).cast("string")


def _described(fault: SqlFault) -> "Expression":
    return F.struct(
        F.lit(fault.kind.value).alias("kind"),
        F.lit(fault.subject).alias("column"),
        F.lit(fault.detail).alias("detail"),
        _texts(fault.shown).alias("shown"),
    )


def _texts(columns: Sequence[Column]) -> "Expression":
    """The values of some columns as text; what cannot be shown does not cost the others."""
    texts = [as_told_text(named(column.name), column.type).cast("string") for column in columns]
    return F.array(*texts) if texts else F.expr("CAST(array() AS array<string>)")
