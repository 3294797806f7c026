# SPDX-License-Identifier: Apache-2.0
"""Rows that prove nothing about an index: those with a value that its column cannot hold.

What the physical check rejects is evidence of nothing. A difference that concerns the primary key
of such a row is neither a missing nor a dangling nor a wrong entry, but undecided, if the value is
in a column that the index uses. A row whose primary key itself is rejected may be the one that an
entry seems to lack: while its own entry is missing, no entry of that index is called dangling.

Damaged rows travel in the frame of the defects, under a kind of their own, so that the jobs that
name defects find them too. Nobody looks for them in an index that agrees with its table.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from checks.columns.merge_join import without_entries
from checks.named_defects import HeldDefect, NamedDefects
from checks.numbering import Relation, Slot
from scrub.codec.arrow_text import text_of
from scrub.model.command_line import check_line
from scrub.model.defect import DefectKind
from scrub.model.relation import SplitKind
from scrub.spark.lazily import F
from scrub.spark.names import named
from scrub.spark.rejected import is_rejected
from scrub.spark.text import as_text
from scrub.stores.entry_states import comparable
from scrub.stores.row_entries import columns_believed

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

DAMAGED = "damaged_row"
"""A kind that no report shows. Its `expected_copies` are 1 if the primary key itself is rejected,
else 0."""


def damaged_rows(rows: "DataFrame", relation: Relation, slot: Slot) -> "DataFrame":
    """The rows of a table that prove nothing about an index, as checks.merge_join.DEFECT_SCHEMA."""
    table = slot.table.table
    columns = [
        column
        for column in columns_believed(table, slot.index)
        if column.name in relation.side.columns
    ]
    of_key = [column for column in columns if column.name in table.primary_key]
    of_files = all(s.kind is not SplitKind.POSTGRES for s in relation.side.facts.splits)
    key = [as_text(named(name), table.column(name).type) for name in table.primary_key]
    # Whatever `--where` says: what it asks about may be the value that is lost.
    damaged = rows.where(is_rejected(columns, of_files=of_files))
    return _as_defects(damaged, slot, key, is_rejected(of_key, of_files=of_files))


def damaged_keys(slot: Slot, entries: pa.Table, keys: pa.Table) -> Iterator[HeldDefect]:
    """The same of primary keys p0, p1, ... that a store rejects, if an entry has them."""
    table = slot.table.table
    names = [f"p{number}" for number in range(len(table.primary_key))]
    concerned = set(comparable(entries.select(names)))
    types = [table.column(name).type for name in table.primary_key]
    for number, key in enumerate(comparable(keys)):
        if key in concerned:
            texts = [
                text_of(keys.column(name)[number], of_type)
                for name, of_type in zip(names, types, strict=True)
            ]
            yield held_damage(slot.number, texts, of_key=None in texts)


def _as_defects(
    rows: "DataFrame", slot: Slot, key: Sequence["SparkColumn"], of_key: "SparkColumn"
) -> "DataFrame":
    return without_entries(
        rows,
        slot.number,
        DAMAGED,
        copies=(of_key, 0),
        primary_key=F.array(*(text.cast("string") for text in key)),
        index_key=F.expr("CAST(array() AS array<string>)"),
    )


def without_damaged(defects: NamedDefects) -> NamedDefects:
    """The defects of rows of which none is damaged."""
    return NamedDefects(defects.framed.where(F.col("kind") != DAMAGED))


def decided(defects: NamedDefects) -> NamedDefects:
    """The defects without those that damaged rows leave undecided."""
    if defects.held is not None:
        undecided = {id(row) for row in _undecided(defects.held)}
        return NamedDefects.holding(
            row for row in defects.held if row["kind"] != DAMAGED and id(row) not in undecided
        )
    frame = defects.framed
    return NamedDefects(_judged(frame).where("NOT undecided").select(*frame.columns))


def held_damage(slot: int, key: Sequence[str | None], *, of_key: bool) -> HeldDefect:
    """A row that proves nothing, by the texts of its primary key, among defects that are held."""
    return {
        "slot": slot,
        "kind": DAMAGED,
        "expected_copies": int(of_key),
        "actual_copies": 0,
        "primary_key": list(key),
        "index_key": [],
        "expected": None,
        "actual": None,
    }


def _undecided(held: Sequence[HeldDefect]) -> list[HeldDefect]:
    damaged = {_row_of(row): row["expected_copies"] for row in held if row["kind"] == DAMAGED}
    lost_keys = {
        row["slot"]
        for row in held
        if row["kind"] == DefectKind.MISSING.value and damaged.get(_row_of(row))
    }
    return [
        row
        for row in held
        if row["kind"] != DAMAGED
        and (
            _row_of(row) in damaged
            or (row["slot"] in lost_keys and row["kind"] == DefectKind.DANGLING.value)
        )
    ]


def undecided_by_slot(held: Sequence[HeldDefect]) -> dict[int, int]:
    """How many of the defects held here damaged rows leave undecided."""
    return dict(Counter(row["slot"] for row in _undecided(held)))


def undecided_in(frame: "DataFrame") -> "DataFrame":
    """The same of a frame with any number of defects: slot and count."""
    return _judged(frame).where("undecided").groupBy("slot").count()


def damage_told(slot: Slot, undecided: int) -> str:
    """Why the check of an index is incomplete, and what to do."""
    table = slot.table.table
    return (
        f"{undecided} differences concern rows of {table.name} with a value that its column cannot "
        "hold, which proves nothing: correct these rows, and check again (to have them named: "
        f"{check_line(table, '--checks', 'physical')})"
    )


def _judged(frame: "DataFrame") -> "DataFrame":
    """The defects, each with whether it is undecided."""
    rest = frame.where(F.col("kind") != DAMAGED)
    damaged = (
        frame.where(F.col("kind") == DAMAGED)
        .groupBy(F.col("slot").alias("of_slot"), F.col("primary_key").alias("of_key"))
        .agg(F.max("expected_copies").alias("key_is_rejected"))
    )
    marked = rest.join(
        damaged,
        (F.col("slot") == F.col("of_slot")) & F.col("primary_key").eqNullSafe(F.col("of_key")),
        "left",
    )
    lost_keys = (
        marked.where(F.col("kind") == DefectKind.MISSING.value)
        .where("key_is_rejected = 1")
        .select(F.col("slot").alias("slot_of_lost"))
        .distinct()
    )
    explained = F.col("slot_of_lost").isNotNull() & (F.col("kind") == DefectKind.DANGLING.value)
    return marked.join(
        F.broadcast(lost_keys), F.col("slot") == F.col("slot_of_lost"), "left"
    ).select(*frame.columns, (F.col("of_slot").isNotNull() | explained).alias("undecided"))


def _row_of(row: HeldDefect) -> tuple[int, tuple[str | None, ...]]:
    return row["slot"], tuple(row["primary_key"])
