# SPDX-License-Identifier: Apache-2.0
"""The physical check where Spark reads: NULLs by expressions, types by the relation's schema.

What else may be wrong with a value, Spark's readers hide: they replace bytes that are not UTF-8,
and turn numbers that do not fit into NULL or raise.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from checks.numbering import Relation
from checks.physical.part_faults import PartFaults
from checks.physical_check import never_null_in_key
from checks.specs import is_looked_at
from scrub.model.defect import DefectKind
from scrub.model.table import Column
from scrub.model.types import widens
from scrub.spark.names import named
from scrub.spark.text import as_text

_ROWS = "rows"


def columns_as_declared(relation: Relation) -> tuple[Column, ...]:
    """The columns that the relation holds in a type that fits the catalog's."""
    assert relation.table.physical is not None, "a physical check was planned"
    misfits = misfits_of(relation)
    columns = (never_null_in_key(relation.table.table, n) for n in relation.table.physical.columns)
    return tuple(column for column in columns if column.name not in misfits)


def misfits_of(relation: Relation) -> dict[str, str]:
    """Columns that the relation as a whole holds in another type, and what it says of them."""
    assert relation.table.physical is not None, "a physical check was planned"
    facts, found = relation.side.facts, {}
    for name in relation.table.physical.columns:
        stored, wanted = facts.columns[name], relation.table.table.column(name).type
        if stored is None or not widens(stored, wanted):
            what = stored or "a type that cannot be compared"
            found[name] = f"column {name} of {facts.relation} is stored as {what}, not {wanted}"
    return found


def counted_values(rows: DataFrame, columns: Sequence[Column], where: str | None) -> DataFrame:
    """One row: how many rows there are, and how many values each column has.

    All columns are counted, also those that may be NULL: what cannot be read must show.
    """
    counts = [F.count(named(c.name)).alias(f"values{i}") for i, c in enumerate(columns)]
    return rows.where(is_looked_at(where)).agg(F.count(F.lit(1)).alias(_ROWS), *counts)


def as_faults(counted: Row, columns: Sequence[Column], misfits: Mapping[str, str]) -> PartFaults:
    """What `counted_values` found."""
    absent = {
        column.name: counted[_ROWS] - counted[f"values{number}"]
        for number, column in enumerate(columns)
        if not column.nullable
    }
    return PartFaults(
        rows=counted[_ROWS],
        counts={(name, DefectKind.NULL_VIOLATION): n for name, n in absent.items() if n},
        misfits=tuple(sorted(misfits)),
    )


def rows_with_null(rows: DataFrame, relation: Relation, columns: Sequence[Column]) -> DataFrame:
    """A row for each NULL that should not be, as checks.physical.scan.FAULT_SCHEMA."""
    table, readable = relation.table.table, {column.name for column in columns}
    key = [
        as_text(named(name), table.column(name).type) if name in readable else F.lit(None)
        for name in table.primary_key
    ]
    nulls = [F.when(named(c.name).isNull(), F.lit(c.name)) for c in columns if not c.nullable]
    detail = F.concat(
        F.lit("column "), F.col("column"), F.lit(" is NULL, but the catalog says nullable: false")
    )
    return (
        rows.where(is_looked_at(relation.table.where))
        .select(
            F.array(*(text.cast("string") for text in key)).alias("primary_key"),
            F.explode(F.array_compact(F.array(*nulls))).alias("column"),
        )
        .select(
            F.lit(-1).alias("part"),
            F.lit(0).cast("bigint").alias("place"),
            F.lit(DefectKind.NULL_VIOLATION.value).alias("kind"),
            "column",
            "primary_key",
            detail.alias("detail"),
            F.lit(None).cast("string").alias("value_hex"),
        )
    )
