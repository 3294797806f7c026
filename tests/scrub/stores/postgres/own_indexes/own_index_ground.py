# SPDX-License-Identifier: Apache-2.0
"""Own indexes to check, and real damage to them: kept from seeing writes, or edited on disk."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from checks.own_indexes.index import OwnIndexFindings, check_own_index
from scrub.model.defect import Defect, DefectKind
from scrub.model.table import Column, EntryColumn, Index, Store, Table
from scrub.model.types import parse_type
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import Database, OwnServer
from tests.scrub.stores.sample import no_session

TABLE = Table(
    name="t",
    store="shop",
    relation="t",
    columns=(Column(name="id", type=parse_type("int"), nullable=False),),
    primary_key=("id",),
)


def own_index(name: str, *columns: str, unique: bool = False) -> Index:
    """An index of the catalog."""
    key = tuple(EntryColumn(name=column, source=column) for column in columns)
    return Index(name=name, store="shop", relation=name, key=key, suffix=(), unique=unique)


def store_of(database: Database, **options: str) -> PostgresStore:
    return PostgresStore(Store(name="shop", kind="postgres", url=database.url, options=options))


def check(
    database: Database, index: Index, *, table: Table = TABLE, limit: int = 100
) -> OwnIndexFindings:
    """The check as a run does it: the table pinned first."""
    store = store_of(database)
    try:
        store.pin(table.relation, None, no_session, ())
        return check_own_index(store, table, index, limit)
    finally:
        store.close()


def told(findings: OwnIndexFindings, kind: DefectKind) -> list[tuple[Any, ...]]:
    """Primary key and index key of all defects of a kind."""
    return sorted(
        (_values(defect.primary_key) + _values(defect.index_key))
        for defect in findings.defects
        if defect.kind is kind
    )


def only(findings: OwnIndexFindings) -> Defect:
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

    def get(self, number: int, column: int) -> int:
        """An integer that an entry holds."""
        (value,) = struct.unpack_from("<i", self.page, self._place(number) + 8 + 4 * column)
        return int(value)

    def put(self, number: int, column: int, value: int) -> None:
        """Change an integer that an entry holds."""
        struct.pack_into("<i", self.page, self._place(number) + 8 + 4 * column, value)


def row_at(block: int, line: int) -> bytes:
    return struct.pack("<HHH", block >> 16, block & 0xFFFF, line)


def copy_entry(leaf: LeafPage) -> None:
    """The entry of row 21 becomes another one of row 20."""
    leaf.put(20, 0, 200)
    leaf.put(20, 1, 20)
    leaf.lead_to(20, leaf.row(19))


def _mix(leaf: LeafPage) -> None:
    leaf.swap_rows(9, 29)
    leaf.lead_to(19, row_at(0, 200))


EDITS: dict[str, Edit] = {
    "swapped": lambda leaf: leaf.swap_rows(9, 29),
    "rekeyed": lambda leaf: leaf.put(39, 0, 395),
    "copied": copy_entry,
    "astray": lambda leaf: leaf.lead_to(9, row_at(0, 200)),
    "beyond": lambda leaf: leaf.lead_to(9, row_at(77, 1)),
    "disordered": lambda leaf: leaf.swap_places(9, 29),
    "stored": lambda leaf: leaf.put(9, 1, 5555),
    "mixed": _mix,
}


def lower_separator(root: LeafPage) -> None:
    """A search for the last key of the first leaf now begins behind it, in the second one."""
    root.put(1, 0, root.get(1, 0) - 15)


ROOT_OF_THOUSAND = 3
"""The page of the root, in an index of a thousand rows; the leaves are 1, 2, 4 and so on."""


def table_for_edits(name: str, rows: int = 50) -> tuple[str, ...]:
    """Make a table, where the key of a row is ten times its number, and the index to be edited."""
    return (
        f"CREATE TABLE {name} (id int PRIMARY KEY, k int, s int)",
        f"INSERT INTO {name} SELECT i, i * 10, i FROM generate_series(1, {rows}) AS i",
        f"CREATE UNIQUE INDEX {name}_k ON {name} (k) INCLUDE (s)",
        f"VACUUM (FREEZE, ANALYZE) {name}",
    )


def edit_page(file: Path, edit: Edit, number: int = 1) -> None:
    """Edit a page of an index in its file; the first one behind the tree's own is the leaf."""
    data = bytearray(file.read_bytes())
    page = data[_PAGE * number : _PAGE * (number + 1)]
    edit(LeafPage(page))
    data[_PAGE * number : _PAGE * (number + 1)] = page
    file.write_bytes(data)


ODD_CLASS = (
    "CREATE FUNCTION cmp(int, int) RETURNS int IMMUTABLE LANGUAGE sql "
    "AS 'SELECT CASE WHEN $1 < $2 THEN -1 WHEN $1 > $2 THEN 1 ELSE 0 END'",
    *(
        statement
        for name, operator in (("lt", "<"), ("le", "<="), ("eq", "="), ("ge", ">="), ("gt", ">"))
        for statement in (
            # Not in SQL: the planner would put its text in place of the operator, and see no index.
            f"CREATE FUNCTION {name}(int, int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql "
            f"AS 'BEGIN RETURN public.cmp($1, $2) {operator} 0; END'",
            f"CREATE OPERATOR {operator}~ (FUNCTION={name}, LEFTARG=int, RIGHTARG=int)",
        )
    ),
    "CREATE OPERATOR CLASS odd FOR TYPE int USING btree AS OPERATOR 1 <~, OPERATOR 2 <=~, "
    "OPERATOR 3 =~, OPERATOR 4 >=~, OPERATOR 5 >~, FUNCTION 1 cmp(int, int)",
)
"""An operator class for integers whose comparison can be replaced."""


def compare_by_rest(divisor: int) -> str:
    """Let the operator class compare what is left by a division."""
    return (
        "CREATE OR REPLACE FUNCTION cmp(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS "
        f"'SELECT CASE WHEN $1 % {divisor} < $2 % {divisor} THEN -1 "
        f"WHEN $1 % {divisor} > $2 % {divisor} THEN 1 ELSE 0 END'"
    )


class EditableServer:
    """A server of its own, which can be stopped and have its files edited."""

    def __init__(self) -> None:
        self.server = OwnServer()
        self.database = Database(self.server.url)

    def edit(self, edits: dict[str, Edit], pages: Mapping[str, int] | None = None) -> None:
        """Stop, edit the leaf or another page of each index, and start again."""
        with psycopg.connect(self.database.url, autocommit=True) as connection:
            files = {name: self._file(connection, name) for name in edits}
            checksums = connection.execute("SHOW data_checksums").fetchone() == ("on",)
            connection.execute("CHECKPOINT")
        self.server.stop()
        if checksums:
            self.server.disable_checksums()
        for name, edit in edits.items():
            edit_page(files[name], edit, (pages or {}).get(name, 1))
        self.server.start()

    def _file(self, connection: psycopg.Connection[Any], name: str) -> Path:
        row = connection.execute("SELECT pg_relation_filepath(%s)", (name,)).fetchone()
        assert row is not None
        return self.server.directory / str(row[0])

    def close(self) -> None:
        self.server.close()
