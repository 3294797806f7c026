# SPDX-License-Identifier: Apache-2.0
"""Rows that tasks return, as Arrow has them; their schema is the text that Spark is given."""

from collections.abc import Sequence

import pyarrow as pa

_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "array<string>": pa.list_(pa.string()),
}


def arrow_schema(schema: str) -> pa.Schema:
    """The same schema in Arrow's types."""
    fields = (field.split() for field in schema.split(","))
    return pa.schema([(name, _TYPES[of_type]) for name, of_type in fields])


def as_batch(rows: Sequence[tuple[object, ...]], schema: str) -> pa.RecordBatch:
    """Rows as a batch of this schema; there may be none."""
    of = arrow_schema(schema)
    columns = zip(*rows, strict=True) if rows else ((),) * len(of)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, of, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=of)
