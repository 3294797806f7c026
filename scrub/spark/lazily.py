# SPDX-License-Identifier: Apache-2.0
"""Spark's functions, for modules that are imported by checks which need no Spark.

Importing PySpark takes as long as checking a small table.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import functions as F
else:
    from scrub.lazy_module import LazyModule

    F = LazyModule("pyspark.sql.functions")

__all__ = ["F"]
