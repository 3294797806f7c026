# SPDX-License-Identifier: Apache-2.0
"""The jobs that fingerprint parts of tables and indexes, one for each engine."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from checks.columns.entries import primary_key_of
from checks.columns.split_sums import fingerprint_splits
from checks.columns.sql_sums import EntryColumns, fingerprint_frame
from checks.index_check import beside_primary_key
from checks.numbering import Relation, Slot
from checks.parts import Part, pack
from checks.read_by_spark import frame_read
from checks.scan_spec import ACTUAL, EXPECTED, ScanSpec
from checks.specs import Among, Looks, is_looked_at, scan_spec
from checks.task_sums import SUMS_SCHEMA, TASKS_PER_CORE, added_up
from checks.work import Work
from scrub.codec.digest import Salt
from scrub.spark.expected_values import expected_value, is_covered, type_of
from scrub.spark.names import named
from scrub.stores.base import ReadableStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def fingerprint_splits_natively(
    cores: int,
    parts: Sequence[Part],
    slots: frozenset[int],
    salt: Salt,
    looks: Looks,
    among: Among,
) -> Work:
    """Sums over the native parts and a report on each, as SUMS_SCHEMA."""
    tasks = pack(parts, TASKS_PER_CORE * cores)
    relations = {part.relation.number: part.relation for part in parts}
    specs = {number: scan_spec(of, slots, salt, looks, among) for number, of in relations.items()}
    task = partial(fingerprint_splits, specs=specs)
    return added_up(
        Work(given=tasks, task=task, schema=SUMS_SCHEMA), cores, len(tasks) * _bytes_of_sums(specs)
    )


def _bytes_of_sums(specs: Mapping[int, ScanSpec]) -> int:
    """At most what one task returns."""
    buckets = {
        entry.slot: 1 << spec.bucket_bits for spec in specs.values() for entry in spec.entries
    }
    return 32 * sum(buckets.values())


def fingerprint_by_sql(
    spark: "SparkSession",
    parts: Sequence[Part],
    stores: Mapping[str, ReadableStore],
    slots: frozenset[int],
    salt: Salt,
    chosen_among: Callable[["DataFrame", Slot], "DataFrame"],
) -> "DataFrame":
    """Sums over the parts that only Spark reads: slot, bucket and SUM_COLUMNS.

    `chosen_among` leaves of an index the rows with the primary key of a chosen row.
    """
    frames = []
    for relation in {part.relation.number: part.relation for part in parts}.values():
        splits = [s for part in parts if part.relation is relation for s in part.splits]
        store = stores[relation.side.facts.store]
        rows = frame_read(store, spark, relation.side.facts, relation.columns, splits)
        if not relation.is_table and relation.slots[0].plan.by_rows:
            rows = chosen_among(rows, relation.slots[0])
        frames.append(_sql_frame(rows, relation, slots, salt))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _sql_frame(
    rows: "DataFrame", relation: Relation, slots: frozenset[int], salt: Salt
) -> "DataFrame":
    table = relation.table
    make = _expected_columns if relation.is_table else _actual_columns
    entries = [make(slot) for slot in relation.slots if slot.number in slots]
    return fingerprint_frame(rows, primary_key_of(table.table), entries, salt, table.bucket_bits)


def _expected_columns(slot: Slot) -> EntryColumns:
    columns = beside_primary_key(slot.table, slot.index)
    return EntryColumns(
        slot=slot.number,
        sign=EXPECTED,
        beside_primary_key=[(expected_value(column), type_of(column)) for column in columns],
        condition=is_covered(slot.index, slot.table.where),
    )


def _actual_columns(slot: Slot) -> EntryColumns:
    columns = beside_primary_key(slot.table, slot.index)
    return EntryColumns(
        slot=slot.number,
        sign=ACTUAL,
        beside_primary_key=[(named(column.name), type_of(column)) for column in columns],
        condition=is_looked_at(slot.where_of_entries),
    )
