# SPDX-License-Identifier: Apache-2.0
"""What every use case of repairing takes beside its request."""

from typing import TYPE_CHECKING, TypedDict

from scrub.model.progress import ProgressListener
from scrub.model.request import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunOptions(TypedDict, total=False):
    """A session to borrow, or how to start one if a check needs it; and who hears of progress."""

    spark: "SparkSession | None"
    spark_options: SparkOptions | None
    on_progress: ProgressListener
