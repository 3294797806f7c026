# SPDX-License-Identifier: Apache-2.0
"""Writes random trials into a lake and a database, with a catalog of their constraints."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from psycopg import Connection, sql

from tests.checks.constraints.oracle import ConstraintTrial
from tests.checks.constraints.pair_trials import as_pairs, write_pairs
from tests.checks.trials import Row, write_files
from tests.postgres_server import Database

_IN_SERVER = {
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}

Types = dict[str, str]


def write_trials(batch: list[ConstraintTrial], directory: Path, database: Database) -> Path:
    """Each trial with its parents: in a lake as t0, t1, ..., in a database as p0, p1, ...

    And once more in the lake as k0, k1, ..., as key-value pairs.
    """
    tables: dict[str, Any] = {}
    held: dict[str, list[Row]] = {}
    with database.connect() as connection:
        for number, trial in enumerate(batch):
            for name, of_table in with_parents(f"t{number}", trial).items():
                write_rows(directory / name, of_table.types, of_table.rows)
                tables[name] = described(of_table, name)
                of_server = replace(of_table, types=_types_of_server(of_table.types))
                in_server = f"p{name[1:]}"
                insert_rows(connection, in_server, of_server.types, of_server.rows)
                tables[in_server] = described(of_server, in_server, "shop")
            for name, of_table in with_parents(f"t{number}", as_pairs(trial)).items():
                in_pairs = f"k{name[1:]}"
                kv = {"layout": "kv", "table_id": 100 + len(held)}
                tables[in_pairs] = described(of_table, in_pairs) | kv
                held[in_pairs] = of_table.rows
    stores = {
        "lake": {"kind": "spark", "format": "parquet", "path": "."},
        "shop": {"kind": "postgres", "url": database.url},
    }
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    for name, rows in held.items():
        write_pairs(catalog, name, rows)
    return catalog


def with_parents(name: str, trial: ConstraintTrial) -> dict[str, ConstraintTrial]:
    """A trial and the parents of its foreign keys, by the names of their tables."""
    parents = [r.parent for r in trial.foreign_keys.values() if r.parent is not None]
    return {name: trial} | {
        parent.name: ConstraintTrial(parent.types, list(parent.types), parent.rows)
        for parent in parents
    }


def described(trial: ConstraintTrial, name: str, store: str = "lake") -> dict[str, Any]:
    """The table of a catalog; the first letter of its name is that of its parents'."""
    return {
        "store": store,
        "columns": {
            column: {"type": kind, "nullable": column not in trial.never_null}
            for column, kind in trial.types.items()
        },
        "primary_key": trial.primary_key,
        "checks": {of: check.sql for of, check in trial.checks.items()},
        "unique": trial.unique,
        "foreign_keys": {
            of: {
                "columns": reference.columns,
                "references": name[0] + reference.parent.name[1:] if reference.parent else name,
            }
            for of, reference in trial.foreign_keys.items()
        },
    }


def write_rows(directory: Path, types: Types, rows: list[Row]) -> None:
    """The rows as Parquet files of a directory."""
    values = [tuple(row[column] for column in types) for row in rows]
    write_files(directory, list(types), types, values)


def insert_rows(connection: Connection[Any], name: str, types: Types, rows: list[Row]) -> None:
    """The rows as a relation of a database, which knows nothing of constraints."""
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(_IN_SERVER.get(kind, kind)))
        for column, kind in types.items()
    ]
    table = sql.Identifier(name)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(columns)))
    places = sql.SQL(", ").join([sql.Placeholder()] * len(types))
    with connection.cursor() as cursor:
        cursor.executemany(
            sql.SQL("INSERT INTO {} VALUES ({})").format(table, places),
            [tuple(row[column] for column in types) for row in rows],
        )


def _types_of_server(types: Types) -> Types:
    """The same without the type that a server does not have."""
    return {c: "smallint" if kind == "tinyint" else kind for c, kind in types.items()}
