# SPDX-License-Identifier: Apache-2.0
"""DuckDB's ways to compare an index with its table; see `benchmarks.peers`.

Apart from those of Spark, because a script that uses DuckDB would not import PySpark either.
"""

from pathlib import Path

from benchmarks import data
from benchmarks.data import Lake
from benchmarks.shapes import COLUMNS, IndexShape


def duckdb_join(lake: Lake, index: IndexShape) -> int:
    """DuckDB's full outer hash join."""
    same_key = " AND ".join(f"e.{column} IS NOT DISTINCT FROM a.{column}" for column in index.key)
    differs = [f"e.{column} IS DISTINCT FROM a.{column}" for column in index.stored]
    return _duckdb_number(
        f"SELECT count(*) FROM ({_select(lake.table, index)}) e "
        f"FULL OUTER JOIN ({_select(lake.index(index), index)}) a ON {same_key} "
        f"WHERE {' OR '.join(['e.present IS NULL', 'a.present IS NULL', *differs])}"
    )


def duckdb_scan(lake: Lake, index: IndexShape) -> int:
    """DuckDB reading the columns of both sides and nothing more; gives the rows it saw."""
    looks = ", ".join(
        f"sum(strlen({column}))" if COLUMNS[column] == "string" else f"bit_xor({column})"
        for column in index.columns
    )
    return sum(
        _duckdb_number(f"SELECT count(*), {looks} FROM ({_select(relation, index)})")
        for relation in (lake.table, lake.index(index))
    )


def _select(relation: Path, index: IndexShape) -> str:
    columns = ", ".join(index.columns)
    return f"SELECT {columns}, true AS present FROM read_parquet({data.files(relation)})"


def _duckdb_number(query: str) -> int:
    """The first number of the first row, from a connection that remembers nothing."""
    with data.connect() as connection:
        row = connection.execute(query).fetchone()
    assert row is not None, "an aggregate has one row"
    return int(row[0])
