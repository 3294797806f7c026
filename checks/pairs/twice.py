# SPDX-License-Identifier: Apache-2.0
"""Looking for keys that are there twice, natively or by Spark, whoever reads the pairs."""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame

from checks.columns.sifting import ROWS_MAX
from checks.pairs.copies import copies_among, twice, twice_in_parts
from checks.pairs.entries import SparkPairs
from checks.pairs.native import NativePairs
from checks.pairs.scan import PairSpec


def find_copies(
    reader: NativePairs | SparkPairs,
    spec: PairSpec,
    pairs: int,
    collect: Callable[[DataFrame], pa.Table],
) -> DataFrame | None:
    """Keys that are there more than once, as COPIES_SCHEMA; None if there are surely none.

    What can be read has this many pairs.
    """
    if isinstance(reader, SparkPairs):
        return copies_among(reader.pairs(), spec)
    job = reader.key_digests()
    digests = twice(collect(twice_in_parts(job) if pairs > ROWS_MAX else job))
    return copies_among(reader.pairs_of(digests), spec) if len(digests) else None
