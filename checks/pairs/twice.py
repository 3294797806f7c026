# SPDX-License-Identifier: Apache-2.0
"""Looking for keys that are there twice, natively or by Spark, whoever reads the pairs."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from checks.columns.sifting import ROWS_MAX
from checks.pairs.copies import copies_among, twice, twice_in_parts
from checks.pairs.entries import pairs_by_spark
from checks.pairs.native import key_digests_natively, pairs_of_digests
from checks.pairs.scan import PairSpec
from checks.pairs.table import PairTable
from checks.task_sums import NumberedSplit
from scrub.stores.base import ReadableStore


def find_copies(
    spark: SparkSession,
    plan: PairTable,
    stores: Mapping[str, ReadableStore],
    spec: PairSpec,
    splits: Sequence[NumberedSplit],
    pairs: int,
    collect: Callable[[DataFrame], pa.Table],
) -> DataFrame | None:
    """Keys that are there more than once, as COPIES_SCHEMA; None if there are surely none.

    `splits` are those that can be read, with this many pairs.
    """
    if any(of.stamp is not None for of in plan.relations):
        return None
    if not plan.is_native:
        return copies_among(pairs_by_spark(spark, plan, stores, by_row=False), spec)
    if not splits:
        return None
    job = key_digests_natively(spark, plan, splits, spec)
    digests = twice(collect(twice_in_parts(job) if pairs > ROWS_MAX else job))
    if not len(digests):
        return None
    return copies_among(pairs_of_digests(spark, plan, splits, spec, digests), spec)
