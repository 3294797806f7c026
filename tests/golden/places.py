# SPDX-License-Identifier: Apache-2.0
"""Where a ground stands: a directory, a database of a fixed name, and ways to write into them."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from psycopg import conninfo, sql

from tests.postgres_server import Database, start_server

COMMITS_BEGAN = datetime(2024, 5, 1, tzinfo=UTC)
_HOUR = 3_600
_FIXED = "file-"


@dataclass
class Place:
    """One ground's own directory and database; commands are run in the directory."""

    name: str
    directory: Path
    names: dict[str, str] = field(default_factory=dict)
    """What stands in the arguments of commands: `{url}`, `{run}`."""

    def write_catalog(self, stores: dict[str, Any], tables: dict[str, Any], **more: Any) -> None:
        document = {"version": 1, "stores": stores, "tables": tables} | more
        (self.directory / "scrub.yaml").write_text(json.dumps(document, indent=1), "utf-8")

    def write_delta(self, relation: str, *parts: pa.Table, **options: Any) -> None:
        """One commit for each part; commits get fixed times, files fixed names."""
        for part in parts:
            write_deltalake(self.directory / relation, part, mode="append", **options)
        fix_delta_log(self.directory / relation)

    def overwrite_delta(self, relation: str, table: pa.Table) -> None:
        write_deltalake(self.directory / relation, table, mode="overwrite")
        fix_delta_log(self.directory / relation)

    def write_parquet(self, relation: str, *parts: pa.Table) -> None:
        (self.directory / relation).mkdir(parents=True)
        for number, part in enumerate(parts):
            pq.write_table(part, self.directory / relation / f"part-{number}.parquet")

    def delta(self, relation: str) -> DeltaTable:
        return DeltaTable(self.directory / relation)

    @property
    def database(self) -> Database:
        return Database(self.names["url"])

    def make_database(self) -> Database:
        self.names["url"] = make_database(f"golden_{self.name.replace('-', '_')}")
        return self.database

    def copy_rows(self, relation: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows into a table of the database."""
        with (
            self.database.connect() as connection,
            connection.cursor() as cursor,
            cursor.copy(f"COPY {relation} FROM STDIN") as copying,
        ):
            for row in rows:
                copying.write_row(row)

    def run_sql(self, *statements: str) -> None:
        self.database.run(*statements)


def halves(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    half = len(table) // 2
    return table.slice(0, half), table.slice(half)


@cache
def golden_server() -> str:
    """The url of a server whose tables nobody vacuums or analyzes but a ground."""
    url = start_server()
    if "SCRUB_TEST_PG_URL" not in os.environ:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET autovacuum = off")
            connection.execute("SELECT pg_reload_conf()")
    return url


def make_database(name: str) -> str:
    server = golden_server()
    with psycopg.connect(server, autocommit=True) as connection:
        place = sql.Identifier(name)
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(place))
        # Of one locale everywhere: collations show in plans and in the order of entries.
        made = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
        connection.execute(sql.SQL(made).format(place))
    return conninfo.make_conninfo(server, dbname=name)


def fix_delta_log(relation: Path) -> None:
    """Give commits fixed times, and data files names that do not change from run to run."""
    names: dict[str, str] = {}
    for file in sorted((relation / "_delta_log").glob("*.json")):
        version = int(file.stem)
        moment = int(COMMITS_BEGAN.timestamp()) + version * _HOUR
        lines = []
        for line in file.read_text("utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                _fix_name(action["add"]["path"], relation, f"{version:02}-{len(lines)}", names)
            _fix_action(action, relation, moment * 1_000, names)
            lines.append(json.dumps(action))
        file.write_text("\n".join(lines) + "\n", "utf-8")
        os.utime(file, (moment, moment))


def _fix_name(path: str, relation: Path, place: str, names: dict[str, str]) -> None:
    folder, _, name = path.rpartition("/")
    if name.startswith(_FIXED):  # by an earlier call
        names[path] = path
        return
    names[path] = f"{folder}/{_FIXED}{place}.parquet".lstrip("/")
    (relation / path).rename(relation / names[path])


def _fix_action(action: dict[str, Any], relation: Path, moment: int, names: dict[str, str]) -> None:
    match action:
        case {"commitInfo": info}:
            info["timestamp"] = moment
        case {"metaData": about}:
            about["createdTime"] = moment
            about["id"] = f"00000000-0000-4000-8000-{_number(relation.name):012}"
        case {"add": added}:
            added["modificationTime"] = moment
            added["path"] = names[added["path"]]
        case {"remove": removed}:
            removed["deletionTimestamp"] = moment
            removed["path"] = names[removed["path"]]


def _number(name: str) -> int:
    return sum(byte * (at + 1) for at, byte in enumerate(name.encode()))
