# SPDX-License-Identifier: Apache-2.0
"""Values such that equal ones are equal to every operator of Spark."""

from typing import TYPE_CHECKING

from scrub.model.types import ColumnType, TypeName
from scrub.spark.digest import one_zero_one_nan

if TYPE_CHECKING:
    from pyspark.sql import Column


def comparable(column: "Column", column_type: ColumnType) -> "Column":
    """The value with one zero and one NaN."""
    if column_type.name in (TypeName.FLOAT, TypeName.DOUBLE):
        return one_zero_one_nan(column.cast("double"))
    return column
