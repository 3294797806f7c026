# SPDX-License-Identifier: Apache-2.0
"""Values as canonical text in Spark.

One text for each value, so that entries of indexes of any shape travel in one frame.
`scrub.codec.json_values` tells what a report shows for it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from scrub.model.types import ColumnType, TypeName


def as_text(column: Column, column_type: ColumnType) -> Column:
    """A value as text that tells it exactly; NULL stays NULL."""
    match column_type.name:
        case TypeName.BINARY:
            return F.lower(F.hex(column))
        case TypeName.TIMESTAMP:
            # Microseconds since the epoch: the session's time zone has no say in it.
            return F.unix_micros(column).cast("string")
        case _:
            return column.cast("string")
