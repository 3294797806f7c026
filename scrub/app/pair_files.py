# SPDX-License-Identifier: Apache-2.0
"""Writing a table's rows as pairs, and showing pairs so that people can read them."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrub.catalog import Catalog
from scrub.errors import UsageError
from scrub.model.command_line import command_line
from scrub.model.kv import KvTable
from scrub.model.table import Column, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.open import open_store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PAIR = tuple(Column(name=name, type=ColumnType(TypeName.BINARY)) for name in ("key", "value"))


def kv_table(catalog: Catalog, name: str) -> Table:
    """A table of the catalog that is in key-value layout."""
    table = catalog.table(name)
    if table.kv is None:
        raise UsageError(f"table {name} has layout columns", hint="its rows are not pairs")
    return table


def encode_table(
    spark: "SparkSession", catalog: Catalog, target: str, source: str, output: Path
) -> None:
    """Write the rows of one table, and their index entries, as the pairs of another, to Parquet."""
    table = kv_table(catalog, target)
    assert table.kv is not None
    if source not in catalog.tables or catalog.tables[source].kv is not None:
        raise UsageError(
            f"{source} is not a table with layout columns",
            hint=f"to see the tables: {command_line('catalog show', catalog=catalog.path)}",
        )
    if output.exists():
        raise UsageError(f"{output} already exists", hint="name a directory that is not")
    _require_writable(table.kv)
    rows = _frame(spark, catalog, catalog.tables[source], table.columns)
    pairs = rows.mapInArrow(partial(_encode, table=table.kv), "key binary, value binary")
    pairs.write.parquet(str(output.absolute()))


def decoded_pairs(spark: "SparkSession", catalog: Catalog, name: str) -> "DataFrame":
    """A frame with one line of text for each pair of a table's relations."""
    table = kv_table(catalog, name)
    assert table.kv is not None
    frames = [
        _frame(spark, catalog, table, _PAIR, relation)
        for relation in dict.fromkeys([table.relation, *(i.relation for i in table.indexes)])
    ]
    pairs = frames[0]
    for frame in frames[1:]:
        pairs = pairs.unionAll(frame)
    return pairs.mapInArrow(partial(_describe, table=table.kv, types=table.types), "line string")


def _frame(
    spark: "SparkSession",
    catalog: Catalog,
    table: Table,
    columns: tuple[Column, ...],
    relation: str | None = None,
) -> "DataFrame":
    store = open_store(catalog.stores[table.store])
    facts = store.pin(relation or table.relation, None, lambda: spark, columns)
    return store.frame(spark, facts, columns, facts.splits)


def _require_writable(table: KvTable) -> None:
    from scrub.codec.kv.arrow_columns import WRITABLE

    for column in table.columns:
        if column.type.kind not in WRITABLE:
            raise UsageError(
                f"column {column.name} is of kind {column.type.kind}, which no column of Spark is",
                hint="leave it out, or make such pairs with the tool that owns them",
            )


def _encode(batches: "Iterator[pa.RecordBatch]", table: KvTable) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    from scrub.codec.kv.arrow_columns import datums_of
    from scrub.codec.kv.layouts import layout_of
    from scrub.codec.kv.rows import encode

    layout = layout_of([table])
    for batch in batches:
        if not batch.num_rows:
            continue
        datums = datums_of(table, {c.name: batch.column(c.name) for c in table.columns})
        for index in range(len(layout.indexes)):
            keys, values = encode(layout, index, datums)
            arrays = [keys.cast(pa.binary()), values.cast(pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, ["key", "value"])


def _describe(
    batches: "Iterator[pa.RecordBatch]", table: KvTable, types: Mapping[str, Any]
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    from scrub.codec.kv.layouts import layout_of
    from scrub.codec.kv.readable import describe_pair

    layout = layout_of([table])
    for batch in batches:
        pairs = zip(*(batch.column(name).to_pylist() for name in ("key", "value")), strict=True)
        lines = [describe_pair(layout, key or b"", value or b"", types) for key, value in pairs]
        yield pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], ["line"])
