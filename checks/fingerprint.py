# SPDX-License-Identifier: Apache-2.0
"""One job that fingerprints parts of tables and indexes with both engines and adds them up."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checks.entries import (
    beside_primary_key,
    expected_value,
    is_covered,
    is_looked_at,
    primary_key_of,
    type_of,
)
from checks.native_fingerprint import (
    FINGERPRINT_COLUMNS,
    FINGERPRINT_SCHEMA,
    NumberedSplit,
    fingerprint_splits,
)
from checks.parts import Part, pack
from checks.scan_spec import ACTUAL, EXPECTED, ScanSpec
from checks.slots import Relation, Slot, scan_spec
from checks.sql_fingerprint import EntryColumns, fingerprint_frame
from scrub.codec.digest import Salt
from scrub.spark.names import named
from scrub.spark.session import parallelism
from scrub.spark.tasks import run_in_tasks
from scrub.stores.base import ReadableStore

TASKS_PER_CORE = 3  # enough to even out splits of different size, few enough to share sums


def fingerprint_job(
    spark: SparkSession,
    parts: Sequence[Part],
    stores: Mapping[str, ReadableStore],
    slots: frozenset[int],
    salt: Salt,
) -> DataFrame:
    """Sums per index and bucket over the parts, each bucket once, and reports on native splits."""
    native = [part for part in parts if part.relation.is_native]
    frames = [_native_frame(spark, native, slots, salt)] if native else []
    for relation in {part.relation.number: part.relation for part in parts}.values():
        if not relation.is_native:
            splits = [s for part in parts if part.relation is relation for s in part.splits]
            store = stores[relation.side.facts.store]
            rows = store.frame(spark, relation.side.facts, relation.columns, splits)
            frames.append(_sql_frame(rows, relation, slots, salt))
    together = reduce(DataFrame.unionAll, frames)
    # Each task has summed up its own parts already; what is left to add is one row a bucket.
    spread = together.repartition(2 * parallelism(spark), "slot", "bucket")
    return spread.groupBy("slot", "bucket").agg(
        *(F.sum(name).alias(name) for name in FINGERPRINT_COLUMNS),
        F.max("report").alias("report"),
    )


def _native_frame(
    spark: SparkSession, parts: Sequence[Part], slots: frozenset[int], salt: Salt
) -> DataFrame:
    tasks = pack(parts, TASKS_PER_CORE * parallelism(spark))
    relations = {part.relation.number: part.relation for part in parts}
    specs = {number: scan_spec(relation, slots, salt) for number, relation in relations.items()}
    work = partial(_fingerprint_task, tasks=tasks, specs=specs)
    return run_in_tasks(spark, len(tasks), work, FINGERPRINT_SCHEMA)


def _fingerprint_task(
    number: int, tasks: Sequence[Sequence[NumberedSplit]], specs: Mapping[int, ScanSpec]
) -> Iterator[pa.RecordBatch]:
    return fingerprint_splits(tasks[number], specs)


def _sql_frame(rows: DataFrame, relation: Relation, slots: frozenset[int], salt: Salt) -> DataFrame:
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
        condition=is_looked_at(slot.table.where),
    )
