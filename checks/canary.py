# SPDX-License-Identifier: Apache-2.0
"""A canary: tasks that try what the native engine needs before a whole run relies on it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from checks.jobs import Jobs
from checks.numbering import Relation, number_plan
from scrub import __version__
from scrub.codec.digest import verify_digest
from scrub.model.plan import CheckPlan
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.spark.failures import cause_in_worker
from scrub.spark.session import parallelism, shares_python
from scrub.spark.tasks import run_in_tasks
from scrub.stores.split_readers import read_split

Trial = tuple[Split, tuple[Column, ...], dict[str, str]]


def native_refusal(plan: CheckPlan, spark: SparkSession) -> str | None:
    """Why tasks on this cluster cannot open splits themselves; a canary in each of them tries.

    Not asked where tasks surely have everything the driver has.
    """
    is_native = any(relation.is_native for relation in _relations(plan))
    if shares_python(spark) or not is_native:
        return None
    try:
        Jobs(lambda: spark).rows(canary_frame(plan, spark))
    except PySparkException as error:
        return f"the canary failed: {cause_in_worker(error)}"
    return None


def _relations(plan: CheckPlan) -> tuple[Relation, ...]:
    """What a run reads, also of parents that are pairs."""
    constraints = (one for table in plan.tables for one in table.constraints)
    parents = [one.parent.pairs for one in constraints if one.parent and one.parent.pairs]
    return tuple(
        relation
        for part in (plan, *(replace(plan, tables=(parent,)) for parent in parents))
        for relation in number_plan(part)[1]
    )


def canary_frame(plan: CheckPlan, spark: SparkSession) -> DataFrame:
    """One task a core: the same scrub, the same digest, and a first batch of each relation."""
    trials: list[Trial] = []
    for relation in _relations(plan):
        facts = relation.side.facts
        if relation.is_native and facts.splits:
            smallest = min(facts.splits, key=lambda split: split.bytes)
            trials.append((smallest, relation.columns, dict(facts.storage_options)))
    work = partial(_try, version=__version__, trials=trials)
    return run_in_tasks(spark, parallelism(spark), work, "task bigint")


def _try(number: int, version: str, trials: list[Trial]) -> Iterator[pa.RecordBatch]:
    if version != __version__:
        raise RuntimeError(f"the executors have scrub {__version__}, the driver has {version}")
    verify_digest()
    for split, columns, storage_options in trials:
        next(read_split(split, columns, storage_options), None)
    yield pa.RecordBatch.from_pydict({"task": [number]})
