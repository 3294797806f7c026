# SPDX-License-Identifier: Apache-2.0
"""The stores that can be written to: how a test makes a relation, opens it, and looks at it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from deltalake import DeltaTable
from psycopg.rows import dict_row

from scrub.model.entry_shape import MARK, EntryShape, Tombstones
from scrub.model.table import Store
from scrub.stores.delta.entries import entry_schema
from scrub.stores.postgres.column_types import sql_type
from tests.postgres_server import start_server
from tests.scrub.stores.conditional_writes import ConditionalWrites, DeltaWrites, PostgresWrites


@dataclass(frozen=True)
class WritableFormat:
    """A store to hold to the contract of conditional writes."""

    name: str
    create: Callable[[Path, EntryShape], None]  # an empty relation for the shape
    open: Callable[[Path], ConditionalWrites]
    rows: Callable[[Path, EntryShape], list[dict[str, Any]]]  # all, tombstones included
    tombstones: frozenset[Tombstones] = field(default_factory=lambda: frozenset(Tombstones))
    lacks: frozenset[str] = frozenset()  # types that the store does not hold
    commits: Callable[[Path, EntryShape], int] | None = None  # how many there were, if it counts


def _create_delta(root: Path, shape: EntryShape) -> None:
    DeltaTable.create(str(root / shape.relation), entry_schema(shape.columns))


def _open_delta(root: Path) -> ConditionalWrites:
    return DeltaWrites(Store(name="lake", kind="delta", path=str(root)))


def _rows_of_delta(root: Path, shape: EntryShape) -> list[dict[str, Any]]:
    table = DeltaTable(str(root / shape.relation)).to_pyarrow_table(columns=list(shape.names))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _commits_of_delta(root: Path, shape: EntryShape) -> int:
    return DeltaTable(str(root / shape.relation)).version()


@cache
def _postgres_url(root: Path) -> str:
    """A database for each test, on the server of all; it goes when the server does."""
    server = start_server()
    name = f"scrub_writes_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return psycopg.conninfo.make_conninfo(server, dbname=name)


def _create_postgres(root: Path, shape: EntryShape) -> None:
    """As somebody would: a primary key where that is possible."""
    columns = [f"{column.name} {sql_type(column.type)}" for column in shape.columns]
    if shape.tombstones is Tombstones.MARKED:
        columns.append(f"{MARK} boolean NOT NULL DEFAULT false")
    keys = shape.indexed if shape.unique else shape.indexed + shape.suffix
    if not any(column.nullable for column in keys):
        columns.append(f"PRIMARY KEY ({', '.join(column.name for column in keys)})")
    with psycopg.connect(_postgres_url(root), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {shape.relation} ({', '.join(columns)})")


def _open_postgres(root: Path) -> ConditionalWrites:
    return PostgresWrites(Store(name="shop", kind="postgres", url=_postgres_url(root)))


def _rows_of_postgres(root: Path, shape: EntryShape) -> list[dict[str, Any]]:
    query = f"SELECT {', '.join(shape.names)} FROM {shape.relation}"
    with psycopg.connect(_postgres_url(root), row_factory=dict_row) as connection:
        return connection.execute(query).fetchall()


WRITABLE_FORMATS = [
    WritableFormat(
        name="postgres",
        create=_create_postgres,
        open=_open_postgres,
        rows=_rows_of_postgres,
    ),
    WritableFormat(
        name="delta",
        create=_create_delta,
        open=_open_delta,
        rows=_rows_of_delta,
        tombstones=frozenset({Tombstones.NONE, Tombstones.NULL_VALUE}),
        commits=_commits_of_delta,
    ),
]
