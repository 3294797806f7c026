# SPDX-License-Identifier: Apache-2.0
"""Indexes whose table is in the same database: it compares them, and hands over what differs.

The database joins; Spark only names what the join could not pair, by the same rules as always.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from checks.columns.merge_join import defects_among, pair_up
from checks.index_check import beside_primary_key
from checks.numbering import Relation, Slot, relations_of
from checks.specs import scan_spec
from scrub.codec.digest import Salt
from scrub.model.predicate import ColumnTerm
from scrub.spark.arrow_frames import frame_of
from scrub.stores.base import ComparedSide

NAMED_MAX = 1_000_000
"""Entries that the driver takes over; if more differ, tasks read both sides instead."""

_NO_SALT = Salt(0, 0)


def sides_of(slot: Slot, relations: Sequence[Relation]) -> tuple[ComparedSide, ComparedSide]:
    """Both sides of an index, as a store must know them."""
    table, index = relations_of(slot, relations)
    return _side(slot, table), _side(slot, index)


def _side(slot: Slot, relation: Relation) -> ComparedSide:
    spec = scan_spec(relation, frozenset((slot.number,)), _NO_SALT)
    (entry,) = spec.entries
    types = {column.name: column.type for column in spec.columns}
    return ComparedSide(
        facts=relation.side.facts,
        primary_key=tuple(ColumnTerm(name, types[name]) for name in spec.primary_key),
        beside=entry.beside_primary_key,
        conditions=entry.conditions,
    )


def key_columns(slot: Slot) -> list[str]:
    """What the indexed columns are called among a store's entries."""
    named = _source_names(slot)
    return [named[number] for number in range(len(slot.index.key))]


def defects_of(spark: SparkSession, slot: Slot, entries: pa.Table) -> DataFrame:
    """The disagreements among entries that a store handed over."""
    expected, actual = (entry_frame(spark, slot, entries, side) for side in (True, False))
    pairs = pair_up(expected, actual, slot.index, shuffle=False)
    return defects_among(pairs, slot.table.table, slot.index, slot.number)


def entry_frame(spark: SparkSession, slot: Slot, entries: pa.Table, expected: bool) -> DataFrame:
    """One side's entries with the names that joins know."""
    of_side = entries.filter(pa.compute.equal(entries.column("expected"), expected))
    identifying = len(slot.index.key) + len(slot.index.suffix)
    columns = {
        f"k{n}" if n < identifying else f"s{n - identifying}": of_side.column(name)
        for n, name in enumerate(_source_names(slot))
    }
    return frame_of(spark, pa.table(columns)).coalesce(1)


def _source_names(slot: Slot) -> list[str]:
    """Where each column of the index's entries is among p0, p1, ... and c0, c1, ..."""
    primary_key = slot.table.table.primary_key
    beside = [column.name for column in beside_primary_key(slot.table, slot.index)]
    return [
        f"p{primary_key.index(column.name)}"
        if column.name in primary_key and not column.is_expression
        else f"c{beside.index(column.name)}"
        for column in slot.index.entry
    ]
