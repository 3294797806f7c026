# SPDX-License-Identifier: Apache-2.0
"""Which columns of a file that is written again get a dictionary."""

import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COMPRESSION = "snappy"
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}  # bytes; texts have none
_SHARE_MAX = 0.75  # of that, where values repeat
_TRIAL_ROWS_MIN = 1_000


def worth_a_dictionary(metadata: Any, first: pa.Table) -> list[str]:
    """The columns that are smaller with a dictionary; looking for one takes most of the time.

    Numbers that come in runs, as in the key of an index, may be as small without: that is tried.
    """
    group = metadata.row_group(0)
    chunks = [group.column(leaf) for leaf in range(metadata.num_columns)]
    worthy = {
        chunk.path_in_schema: chunk.physical_type
        for chunk in chunks
        if chunk.total_uncompressed_size
        < _SHARE_MAX * chunk.num_values * _WIDTHS.get(chunk.physical_type, math.inf)
    }
    if first.num_rows < _TRIAL_ROWS_MIN:
        return list(worthy)
    numbers = [n for n, kind in worthy.items() if kind in _WIDTHS and n in first.column_names]
    with_one = _sizes(first.select(numbers), use_dictionary=True)
    without = _sizes(first.select(numbers), use_dictionary=False)
    return [name for name in worthy if name not in without or with_one[name] < without[name]]


def _sizes(rows: pa.Table, use_dictionary: bool) -> dict[str, int]:
    """How large the columns of some rows are in a file."""
    if not rows.num_columns:
        return {}
    stream = pa.BufferOutputStream()
    pq.write_table(rows, stream, compression=COMPRESSION, use_dictionary=use_dictionary)
    group = pq.read_metadata(pa.BufferReader(stream.getvalue())).row_group(0)
    chunks = [group.column(leaf) for leaf in range(group.num_columns)]
    return {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}
