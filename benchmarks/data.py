# SPDX-License-Identifier: Apache-2.0
"""The lake that is measured: Delta tables made by DuckDB, always the same, kept for later runs.

A relation is made when it is first needed, in a directory of its own that appears when it is whole.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks import shapes
from benchmarks.shapes import BY_CUSTOMER, BY_CUSTOMER_DAMAGED, TABLE, IndexShape

THREADS = 2
DEFECTS = 1000
ROWS_MIN = 10 * DEFECTS
ROW_GROUP_ROWS = 1024 * 1024  # as delta-rs writes them
FORMAT = 1  # to be raised whenever other data is generated, so that no old lake is used


@dataclass(frozen=True, slots=True)
class Lake:
    """The generated lake of one size."""

    home: Path
    rows: int

    @classmethod
    def under(cls, data: Path, rows: int) -> "Lake":
        return cls(data / f"orders-{rows}-format-{FORMAT}", rows)

    @property
    def catalog(self) -> Path:
        return self.home / "scrub.yaml"

    @property
    def table(self) -> Path:
        return self.home / "lake" / TABLE

    def index(self, index: IndexShape) -> Path:
        return self.home / "lake" / index.relation

    def covered(self, index: IndexShape) -> int:
        """How many rows should have an entry."""
        if index.where is None:
            return self.rows
        from pyarrow import parquet  # peers that are timed from their start do without

        return sum(parquet.read_metadata(file).num_rows for file in files(self.index(index)))

    def generate(self, indexes: Iterable[IndexShape]) -> None:
        """Make the catalog, the table and these indexes, where they are not there yet."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.catalog.write_text(shapes.catalog_text())
        if not self.table.exists():
            _make_table(self)
        for index in indexes:
            if not self.index(index).exists():
                if index == BY_CUSTOMER_DAMAGED:
                    if self.rows < ROWS_MIN:
                        raise ValueError(f"{DEFECTS} scattered defects need {ROWS_MIN} rows")
                    self.generate([BY_CUSTOMER])
                _make_index(self, index)


def files(relation: Path) -> list[str]:
    """The Parquet files of a relation."""
    return sorted(str(path) for path in relation.glob("*.parquet"))


def read_ahead(relations: Iterable[Path]) -> None:
    """Bring files into the page cache, so that no measurement waits for a disk and another not."""
    for relation in relations:
        for file in files(relation):
            with Path(file).open("rb", buffering=0) as opened:
                while opened.read(1 << 24):
                    pass


def column_bytes(relation: Path, columns: Iterable[str]) -> int:
    """The compressed size of some columns, told by the footers of the files."""
    from pyarrow import parquet

    wanted = set(columns)
    return sum(
        chunk["total_compressed_size"]
        for file in files(relation)
        for group in parquet.read_metadata(file).to_dict()["row_groups"]
        for chunk in group["columns"]
        if chunk["path_in_schema"] in wanted
    )


def connect(database: Path | None = None) -> duckdb.DuckDBPyConnection:
    """DuckDB with the two threads that every measurement has."""
    connection = duckdb.connect(str(database or ":memory:"))
    connection.execute(f"SET threads = {THREADS}; SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def planted(index: IndexShape) -> dict[str, int]:
    """How many defects of each kind an index has."""
    if index != BY_CUSTOMER_DAMAGED:
        return {}
    kinds = ("missing_secondary_index", "wrong_stored_value", "dangling_secondary_index")
    return {kind: len(range(place, DEFECTS, len(kinds))) for place, kind in enumerate(kinds)}


def write_in_ranges(
    relation: Path,
    rows: int,
    files_wanted: int,
    query: Callable[[int, int], str],
    connection: duckdb.DuckDBPyConnection | None = None,
) -> None:
    """Make a relation of so many files; the query gives the rows with numbers in [begin, end)."""
    partial = _fresh(relation)
    connection = connection or connect()
    for number in range(files_wanted):
        begin, end = (rows * (number + i) // files_wanted for i in (0, 1))
        _copy(connection, query(begin, end), partial / f"part-{number}.parquet")
    _commit(partial, relation)


def write_sorted(relation: Path, entries: str, order: Sequence[str]) -> None:
    """Make the relation of an index from a query of its entries."""
    scratch = relation.with_name(f"{relation.name}.sorting.duckdb")
    scratch.unlink(missing_ok=True)
    connection = connect(scratch)
    connection.execute(f"CREATE TABLE sorted AS {entries} ORDER BY {', '.join(order)}")
    (count,) = connection.execute("SELECT count(*) FROM sorted").fetchone() or (0,)
    write_in_ranges(
        relation,
        count,
        shapes.INDEX_FILES,
        lambda begin, end: f"SELECT * FROM sorted WHERE rowid >= {begin} AND rowid < {end}",
        connection,
    )
    connection.close()
    scratch.unlink()


def _make_table(lake: Lake) -> None:
    write_in_ranges(
        lake.table,
        lake.rows,
        shapes.TABLE_FILES,
        lambda begin, end: shapes.rows_query(lake.rows, begin, end),
    )


def _make_index(lake: Lake, index: IndexShape) -> None:
    """Entries in the order of the key, as whoever maintains an index would lay them out."""
    entries = (
        _damaged_entries(lake) if index == BY_CUSTOMER_DAMAGED else entries_of(lake.table, index)
    )
    write_sorted(lake.index(index), entries, tuple(dict.fromkeys((*index.key, "id"))))


def entries_of(table: Path, index: IndexShape) -> str:
    """The query of an index's entries."""
    where = f" WHERE {index.where}" if index.where else ""
    return f"SELECT {index.query} FROM read_parquet({files(table)}){where}"


def _damaged_entries(lake: Lake) -> str:
    """The entries of `by_customer`, with every thousandth part of the ids hit once.

    Turn by turn an entry is left out, has another status, or gets company whose row does not exist.
    """
    stride = lake.rows // DEFECTS
    return f"""
        WITH hits AS (
            SELECT range * {stride} + (hash(range) % {stride})::BIGINT AS id, range % 3 AS how
            FROM range({DEFECTS})
        ), found AS (
            SELECT entry.*, how
            FROM read_parquet({files(lake.index(BY_CUSTOMER))}) entry LEFT JOIN hits USING (id)
        )
        SELECT customer_id, id, if(how = 1, 'refunded', status) AS status
        FROM found WHERE how IS DISTINCT FROM 0
        UNION ALL
        SELECT customer_id, id + {lake.rows}, status FROM found WHERE how = 2
    """


def _copy(connection: duckdb.DuckDBPyConnection, query: str, file: Path) -> None:
    connection.execute(
        f"COPY ({query}) TO '{file}' "
        f"(FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
    )


def _fresh(relation: Path) -> Path:
    partial = relation.with_name(f"{relation.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial


def _commit(partial: Path, relation: Path) -> None:
    # It would warn of every string column that its statistics leave out.
    os.environ.setdefault("RUST_LOG", "error")
    from deltalake import convert_to_deltalake

    # The log names files relative to itself, so the directory may move afterwards.
    convert_to_deltalake(partial)
    partial.rename(relation)
