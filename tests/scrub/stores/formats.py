# SPDX-License-Identifier: Apache-2.0
"""One way of writing the sample for each store and format, and what that format cannot hold."""

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from psycopg.conninfo import make_conninfo

from scrub.model.table import Column, Store
from scrub.spark.types import to_struct
from scrub.stores.postgres.column_types import sql_type
from scrub.stores.postgres.quoting import identifier
from tests.postgres_server import start_server

Write = Callable[[Path, pa.Table, Sequence[Column], Any], None]


@dataclass(frozen=True)
class Format:
    """A store to hold to the contract. `lacks` names columns it cannot hold, and why."""

    name: str
    store: Callable[[Path], Store]
    write: Write  # appends rows to the relation `t`
    native: bool = False
    pinned: bool = True
    needs_session: bool = True
    lacks: Mapping[str, str] = field(default_factory=dict)
    refuses_to_pin: bool = False  # a catalog that expects such a column is refused
    relation: Callable[[Path], str] = lambda _: "t"
    one_snapshot: bool = False  # a store stands for one moment; a later one needs another store


def _count(path: Path) -> int:
    path.mkdir(parents=True, exist_ok=True)
    return len(list(path.iterdir()))


def _write_delta(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    write_deltalake(str(root / "t"), table, mode="append")


def _write_parquet(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    pq.write_table(table, root / "t" / f"part-{_count(root / 't')}.parquet")


def _write_orc(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    _frame(table, columns, spark).write.mode("append").orc(f"file://{root}/t")


def _write_csv(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    def cell(value: Any) -> str:
        if value is None:
            return ""
        text = _text(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'

    lines = [",".join(cell(name) for name in table.column_names)]
    lines += [",".join(map(cell, row.values())) for row in table.to_pylist()]
    (root / "t" / f"part-{_count(root / 't')}.csv").write_text("\n".join(lines) + "\n")


def _write_json(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    def token(name: str, value: Any) -> str:
        text = _text(value)
        quoted = not isinstance(value, int | float) and "decimal" not in str(table.field(name).type)
        return json.dumps(text) if quoted or text in ("NaN", "Infinity", "-Infinity") else text

    lines = [
        "{"
        + ", ".join(
            f"{json.dumps(n)}: {token(n, v)}" for n, v in row.items() if v is not None or n == "day"
        )
        + "}"
        for row in table.to_pylist()
    ]
    text = "\n".join(lines).replace('"None"', "null")
    (root / "t" / f"part-{_count(root / 't')}.json").write_text(text)


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(
                str(value), str(value)
            )
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return value.isoformat()
    return str(value)


def _frame(table: pa.Table, columns: Sequence[Column], spark: Any) -> Any:
    return spark.createDataFrame(table, schema=to_struct(columns)).coalesce(1)


def _derby_url(root: Path) -> str:
    return f"jdbc:derby:{root}/derby;create=true"


def _write_jdbc(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    frame = _frame(table, columns, spark)
    frame.write.format("jdbc").options(url=_derby_url(root), dbtable="t").mode("append").save()


def _write_table(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    # The table's files go where the test's other files go; its name is free after the test.
    writer = _frame(table, columns, spark).write.mode("append").format("parquet")
    writer.option("path", f"file://{root}/t").saveAsTable(_table_name(root))


def _table_name(root: Path) -> str:
    return f"t_{zlib.crc32(str(root).encode())}"


@cache
def _database(root: Path) -> str:
    """A database for each test; the server is gone when the tests are."""
    name = f"contract_{zlib.crc32(str(root).encode())}"
    with psycopg.connect(start_server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_conninfo(start_server(), dbname=name)


def _write_postgres(root: Path, table: pa.Table, columns: Sequence[Column], spark: Any) -> None:
    types = ", ".join(f"{identifier(c.name)} {sql_type(c.type)}" for c in columns)
    with psycopg.connect(_database(root), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS t ({types})")
        with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
        connection.execute("ANALYZE t")


def _files(format_: str) -> Callable[[Path], Store]:
    return lambda root: Store(name="files", kind="spark", format=format_, path=str(root))


_NO_BYTE = "PostgreSQL has no integers of one byte"
_NO_BINARY = "CSV has no way to hold binary values"
FORMATS = (
    Format(
        "delta",
        lambda root: Store(name="lake", kind="delta", path=str(root)),
        _write_delta,
        native=True,
        needs_session=False,
    ),
    Format("parquet", _files("parquet"), _write_parquet, native=True, needs_session=False),
    Format("orc", _files("orc"), _write_orc, lacks={"back`tick": "Spark cuts such names in ORC"}),
    Format("csv", _files("csv"), _write_csv, lacks={"bytes": _NO_BINARY}, refuses_to_pin=True),
    Format("json", _files("json"), _write_json),
    Format(
        "jdbc",
        lambda root: Store(
            name="db", kind="spark", format="jdbc", options={"url": _derby_url(root)}
        ),
        _write_jdbc,
        pinned=False,
        lacks={
            "tiny": "Derby has it, but Spark reads it as int: so must the catalog",
            "small": "Derby has it, but Spark reads it as int: so must the catalog",
            "single": "Derby has no NaN",
            "real": "Derby has no NaN",
            "huge": "Derby's decimals have at most 31 digits",
            "clock": "Derby's timestamps are read as instants",
        },
    ),
    Format(
        "table",
        lambda _: Store(name="catalog", kind="spark", format="table"),
        _write_table,
        pinned=False,
        relation=_table_name,
    ),
    Format(
        "postgres",
        lambda root: Store(name="shop", kind="postgres", url=_database(root)),
        _write_postgres,
        native=True,
        needs_session=False,
        lacks={"tiny": _NO_BYTE},
        one_snapshot=True,
    ),
)
