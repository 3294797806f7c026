# SPDX-License-Identifier: Apache-2.0
"""Column names of any spelling, safe inside Spark's own syntax."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def quoted(name: str) -> str:
    """A name as Spark SQL takes it literally: dots and backticks included."""
    return "`" + name.replace("`", "``") + "`"


def named(name: str) -> Column:
    """The column of exactly this name."""
    return F.col(quoted(name))
