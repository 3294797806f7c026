# SPDX-License-Identifier: Apache-2.0
"""The journal of repairs in PostgreSQL: written in the transaction that does what it tells."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from scrub.model.journal import JournalRecord, RowImages, RunRecord
from scrub.model.repair import Action, ActionKind, Entry
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.own_relations import are_there, demand_own
from scrub.stores.postgres.quoting import beside_parameters, qualified
from scrub.stores.repairing import Applied

_RUN_COLUMNS = "run, command, table_name, started, finished, undoes"
_RUN_FIELDS = ("run", "command", "table", "started", "finished", "undoes")
_RECORD_COLUMNS = (
    "run, number, index_name, kind, defect, primary_key, before, after, copies, undone_by"
)
_HAS_IMAGES = """
    SELECT FROM pg_catalog.pg_attribute
    WHERE attrelid = pg_catalog.to_regclass(%s) AND attname = 'images' AND NOT attisdropped
"""


class PostgresJournal:
    """Two relations in the schema of the tables that are repaired."""

    def __init__(self, schema: str) -> None:
        self.runs_relation = qualified(schema, "scrub_runs")
        self.relation = qualified(schema, "scrub_journal")
        self._runs = beside_parameters(self.runs_relation)
        self._records = beside_parameters(self.relation)

    def create(self, connection: Connection) -> None:
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.runs_relation} (
                run text PRIMARY KEY, command text NOT NULL, table_name text NOT NULL,
                started timestamptz NOT NULL, finished timestamptz, undoes text)"""
        )
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.relation} (
                run text NOT NULL REFERENCES {self.runs_relation} ON DELETE CASCADE,
                number bigint GENERATED ALWAYS AS IDENTITY, index_name text NOT NULL,
                kind text NOT NULL, defect text NOT NULL, primary_key json, before json,
                after json, copies integer NOT NULL DEFAULT 0, undone_by text,
                written timestamptz NOT NULL DEFAULT clock_timestamp(), images json,
                PRIMARY KEY (run, number))"""
        )
        demand_own(connection, self.runs_relation, self.relation)
        if not self._has_images(connection):  # a journal of an earlier version
            connection.execute(f"ALTER TABLE {self.relation} ADD COLUMN images json")

    def _has_images(self, connection: Connection) -> bool:
        return connection.execute(_HAS_IMAGES, (self.relation,)).fetchone() is not None

    def is_there(self, connection: Connection) -> bool:
        """Refuses that of a stranger: his view would run his code, and his runs could be undone."""
        return are_there(connection, self.runs_relation, self.relation)

    def begin(self, connection: Connection, record: RunRecord) -> None:
        self.create(connection)
        connection.execute(
            f"INSERT INTO {self._runs} ({_RUN_COLUMNS}) VALUES (%s, %s, %s, %s, NULL, %s) "
            "ON CONFLICT DO NOTHING",
            (record.run, record.command, record.table, record.started, record.undoes),
        )

    def end(self, connection: Connection, run: str) -> None:
        connection.execute(
            f"UPDATE {self._runs} SET finished = clock_timestamp() WHERE run = %s", (run,)
        )

    def add(
        self, connection: Connection, run: str, done: Sequence[tuple[Action, Applied, RowImages]]
    ) -> None:
        """What a batch has done; the same transaction does it."""
        for action, applied, images in done:
            connection.execute(
                f"INSERT INTO {self._records} "
                "(run, index_name, kind, defect, primary_key, before, after, copies, images) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    run,
                    action.index,
                    action.kind,
                    action.defect,
                    _json(action.primary_key),
                    _json(action.before),
                    _json(action.after),
                    applied.copies,
                    _images_json(images),
                ),
            )

    def mark_undone(
        self, connection: Connection, run: str, records: Sequence[JournalRecord]
    ) -> None:
        for record in records:
            connection.execute(
                f"UPDATE {self._records} SET undone_by = %s WHERE run = %s AND number = %s",
                (run, record.run, record.number),
            )

    def forget(self, connection: Connection, before: datetime) -> int:
        if not self.is_there(connection):
            return 0
        query = f"DELETE FROM {self._runs} WHERE finished < %s"
        return connection.execute(query, (before,)).rowcount

    def runs(self, connection: Connection) -> list[RunRecord]:
        if not self.is_there(connection):
            return []
        query = f"SELECT {_RUN_COLUMNS} FROM {self.runs_relation} ORDER BY started DESC"
        rows = connection.execute(query)
        return [RunRecord(**dict(zip(_RUN_FIELDS, row, strict=True))) for row in rows]

    def records(self, connection: Connection, run: str) -> list[JournalRecord]:
        if not self.is_there(connection):
            return []
        images = "images" if self._has_images(connection) else "NULL"
        query = (
            f"SELECT {_RECORD_COLUMNS}, {images} FROM {self._records} WHERE run = %s "
            "ORDER BY number"
        )
        return [_record(row) for row in connection.execute(query, (run,))]


def _record(row: Sequence[Any]) -> JournalRecord:
    told = dict(zip((field.name for field in fields(JournalRecord)), row, strict=True))
    typed = {"kind": ActionKind(told["kind"]), "images": _images(told["images"])}
    return JournalRecord(**{**told, **typed})


def _images_json(images: RowImages) -> str:
    told = {"before": [dict(one) for one in images.before]}
    return json.dumps({**told, "after": [dict(one) for one in images.after]})


def _images(told: dict[str, Any] | None) -> RowImages | None:
    return None if told is None else RowImages(tuple(told["before"]), tuple(told["after"]))


def _json(entry: Entry | None) -> str | None:
    """As text, which the server reads: numbers keep every digit that way."""
    return None if entry is None else json.dumps(dict(entry))
