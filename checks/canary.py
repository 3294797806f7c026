# SPDX-License-Identifier: Apache-2.0
"""A canary: tasks that try what the native engine needs before a whole run relies on it."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from checks.slots import number_plan, scan_spec
from scrub import __version__
from scrub.codec.digest import Salt, verify_digest
from scrub.model.plan import CheckPlan
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.spark.session import parallelism
from scrub.spark.tasks import run_in_tasks
from scrub.stores.split_readers import read_split

Trial = tuple[Split, tuple[Column, ...], dict[str, str]]


def has_native(plan: CheckPlan) -> bool:
    """Whether any relation of the plan is to be opened by tasks."""
    return any(relation.is_native for relation in number_plan(plan)[1])


def canary_frame(plan: CheckPlan, spark: SparkSession) -> DataFrame:
    """One task a core: the same scrub, the same digest, and a first batch of each relation."""
    trials: list[Trial] = []
    for relation in number_plan(plan)[1]:
        if relation.is_native and relation.side.facts.splits:
            spec = scan_spec(relation, frozenset(), Salt(0, 0))
            smallest = min(relation.side.facts.splits, key=lambda split: split.bytes)
            trials.append((smallest, spec.columns, dict(spec.storage_options)))
    return canary_of(trials, spark)


def canary_of(trials: list[Trial], spark: SparkSession) -> DataFrame:
    """One task a core that tries these splits."""
    work = partial(_try, version=__version__, trials=trials)
    return run_in_tasks(spark, parallelism(spark), work, "task bigint")


def _try(number: int, version: str, trials: list[Trial]) -> Iterator[pa.RecordBatch]:
    if version != __version__:
        raise RuntimeError(f"the executors have scrub {__version__}, the driver has {version}")
    verify_digest()
    for split, columns, storage_options in trials:
        next(read_split(split, columns, storage_options), None)
    yield pa.RecordBatch.from_pydict({"task": [number]})
