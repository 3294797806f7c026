# SPDX-License-Identifier: Apache-2.0
"""Index entries as frames: those a table's rows should have, and those an index holds.

Every entry frame has the same columns whatever the index: k0, k1, ... identify the entry (indexed
columns, then the rest of the primary key) and s0, s1, ... are what it stores beside that.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from checks.specs import is_looked_at
from scrub.model.table import Index, Table
from scrub.spark.comparable import comparable
from scrub.spark.digest import TypedColumn
from scrub.spark.expected_values import expected_value, is_covered
from scrub.spark.lazily import F
from scrub.spark.names import named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHOSEN = "chosen"


def expected_entries(rows: "DataFrame", index: Index, where: str | None) -> "DataFrame":
    """The entries that rows of the table should have."""
    covered = rows.where(is_covered(index, where))
    return covered.select(*_named_entry(index, [expected_value(c) for c in index.entry]))


def actual_entries(rows: "DataFrame", index: Index, where: str | None) -> "DataFrame":
    """The entries that an index's relation holds."""
    looked_at = rows.where(is_looked_at(where))
    return looked_at.select(*_named_entry(index, [named(c.name) for c in index.entry]))


def entries_and_choice(rows: "DataFrame", index: Index, where: str) -> "DataFrame":
    """The entries that rows should have, and for each whether its row is `chosen`."""
    covered = rows.where(is_covered(index, None))
    entry = _named_entry(index, [expected_value(c) for c in index.entry])
    return covered.select(*entry, is_looked_at(where).alias(CHOSEN))


def rows_among(rows: "DataFrame", chosen: "DataFrame", table: Table) -> "DataFrame":
    """The rows of a table or index whose primary key some of the chosen rows has."""
    key = [comparable(column, of_type) for column, of_type in primary_key_of(table)]
    keys = chosen.select(*(column.alias(f"__key{n}") for n, column in enumerate(key)))
    same = [column.eqNullSafe(F.col(f"__key{n}")) for n, column in enumerate(key)]
    return rows.join(keys, reduce(and_, same), "left_semi")


def _named_entry(index: Index, values: Sequence["Column"]) -> list["Column"]:
    identifying = len(index.key) + len(index.suffix)
    return [
        value.alias(f"k{number}" if number < identifying else f"s{number - identifying}")
        for number, value in enumerate(values)
    ]


def primary_key_of(table: Table) -> list[TypedColumn]:
    """A table's primary key as digests take it; indexes hold it under the same names."""
    return [(named(name), table.column(name).type) for name in table.primary_key]
