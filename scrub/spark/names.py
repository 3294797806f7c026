# SPDX-License-Identifier: Apache-2.0
"""Column names of any spelling, safe inside Spark's own syntax."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def quoted(name: str) -> str:
    """A name as Spark SQL takes it literally: dots and backticks included."""
    return "`" + name.replace("`", "``") + "`"


def named(name: str) -> "Column":
    """The column of exactly this name."""
    # Not above: whoever only quotes names, as `scrub gx export` does, needs no Spark.
    from pyspark.sql import functions as F

    return F.col(quoted(name))
