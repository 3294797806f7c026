# SPDX-License-Identifier: Apache-2.0
"""Pairs in a lake or a database that may be wrong, and what a check would say of them."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from checks.pairs.defects import PairDefects
from checks.pairs.keys import prefixes_of
from checks.pairs.report import Report
from repair.executing import Executor
from repair.pair_planning import plan_pair_repair
from scrub.app.repairing.stores import open_repairs, seen_by_repair
from scrub.catalog import load_catalog
from scrub.codec.kv.entries import Entries, entries
from scrub.codec.kv.pairs import INVALID
from scrub.codec.kv.row_keys import read_keys
from scrub.codec.kv.sides import DOUBTFUL, PARTIAL
from scrub.model.defect import Defect, DefectKind
from scrub.model.kv import KvTable
from scrub.model.repair import Action, DoneAction, RepairPlan
from scrub.model.table import Index, Table
from scrub.stores.base import no_session
from tests.checks.pairs.pair_ground import INDEXES, all_pairs, kv_table, stored
from tests.checks.plans import planned_pairs
from tests.postgres_server import Database
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row

StoredPair = tuple[bytes, bytes | None]
Relations = dict[str, list[StoredPair]]

APART: dict[str, Any] = INDEXES | {"by_email": INDEXES["by_email"] | {"relation": "emails"}}


class PairGround(ABC):
    """A table in key-value layout; `relations` are what is planted, `pairs` what is there."""

    def __init__(
        self,
        root: Path,
        families: dict[str, Any],
        indexes: dict[str, Any] = INDEXES,
        more: dict[str, Any] | None = None,
    ) -> None:
        self.root = root
        described = kv_table(52, families) | {"indexes": indexes, "store": "home"} | (more or {})
        document = {
            "version": 1,
            "stores": {"home": self.store()},
            "tables": {"pairs": described},
        }
        self.path = root / "scrub.yaml"
        self.path.write_text(json.dumps(document))
        self.catalog = load_catalog(self.path)
        self.table: Table = self.catalog.tables["pairs"]

    @property
    def kv(self) -> KvTable:
        assert self.table.kv is not None
        return self.table.kv

    @abstractmethod
    def store(self) -> dict[str, str]:
        """The store as a catalog describes it."""

    @abstractmethod
    def write(self, relation: str, pairs: Iterable[StoredPair]) -> None:
        """Give a relation exactly these pairs."""

    @abstractmethod
    def read(self, relation: str) -> list[StoredPair]:
        """What a relation holds."""

    @property
    def names(self) -> list[str]:
        return sorted({self.table.relation, *(index.relation for index in self.table.indexes)})

    def relation_of(self, index: str) -> str:
        return "pairs" if index == "primary" else self.table.index(index).relation

    def write_all(self, pairs: dict[str, list[StoredPair]]) -> None:
        """Pairs of the table (`primary`) and of its indexes, each to its relation."""
        for relation in self.names:
            of = [
                pair for name in pairs for pair in pairs[name] if self.relation_of(name) == relation
            ]
            self.write(relation, of)

    def pairs(self) -> dict[str, Counter[StoredPair]]:
        return {relation: Counter(self.read(relation)) for relation in self.names}

    def sound(self, rows: int) -> dict[str, list[StoredPair]]:
        return {name: list(of) for name, of in all_pairs(self.kv, rows).items()}

    def entry(self, index: str, of_row: dict[int, Any]) -> StoredPair:
        (pair,) = self.entries(index, of_row)
        return pair

    def entries(self, index: str, of_row: dict[int, Any]) -> list[StoredPair]:
        (of,) = (one for one in self.kv.indexes if one.name == index)
        return list(stored(encode_entry(self.kv, of, of_row)))

    def row_pairs(self, of_row: dict[int, Any]) -> list[StoredPair]:
        return list(stored(encode_row(self.kv, of_row)))

    def repairs(self) -> Any:
        return open_repairs(self.catalog, self.table, no_session)

    def plan(
        self,
        defects: Sequence[Defect] | None = None,
        siblings: Sequence[Defect] = (),
        delete_last_copies: bool = False,
    ) -> RepairPlan:
        found = self.defects() if defects is None else defects
        store = self.repairs()
        try:
            return plan_pair_repair(found, self.table, store, siblings, delete_last_copies)
        finally:
            store.close()

    def repair(self, run: str, actions: Sequence[Action]) -> list[DoneAction]:
        store = self.repairs()
        try:
            return Executor(store, seen_by_repair(self.table), run).repair(actions)
        finally:
            store.close()

    def undo(self, of: str) -> list[Any]:
        store = self.repairs()
        try:
            done = Executor(store, seen_by_repair(self.table), f"undo {of}").undo(of)
            return [applied.outcome for _, applied in done]
        finally:
            store.close()

    def defects(self) -> list[Defect]:
        """What a check reports: bytes that are wrong, and entries that differ."""
        of_entries = tuple(prefix for prefix, index in prefixes_of(self.kv).items() if index)
        living = sorted(
            (key, value or b"")
            for name in self.names
            for key, value in self.read(name)
            if value or not key.startswith(of_entries)
        )
        names = [index.name for index in self.kv.indexes]
        words = PairDefects(planned_pairs(self.table))
        layout = words.layout
        numbers = [layout.secondary(0, name) for name in names]
        keys, values = (pa.array(list(c), pa.binary()) for c in zip(*living, strict=True))
        first = [at for at in range(len(living)) if not at or living[at][0] != living[at - 1][0]]
        found = entries(layout, numbers, keys.take(first), values.take(first))
        report = Report(limit=10_000)
        batch = pa.RecordBatch.from_arrays([keys, values], ["key", "value"])
        report.add(layout, found, batch.take(pa.array(first)))
        told = [words.of_pair(shown) for shown in report.shown]
        told += _copies(words, living)
        doubted = _rows_that_differ(words, living)
        unread = {bad.index for bad in found.bad if bad.verdict == INVALID and bad.in_value}
        for number, name in zip(numbers, names, strict=True):
            for defect in _differences(words, self.table.index(name), number, found, doubted):
                hidden = {DefectKind.MISSING} if number in unread else set()
                hidden |= {DefectKind.DANGLING} if found.lost else set()
                if defect.kind not in hidden:
                    told.append(defect)
        return told


def _there_twice(living: Sequence[StoredPair]) -> dict[bytes, list[bytes]]:
    there: dict[bytes, list[bytes]] = {}
    for key, value in living:
        there.setdefault(key, []).append(value or b"")
    return {key: values for key, values in there.items() if len(values) > 1}


def _copies(words: PairDefects, living: Sequence[StoredPair]) -> Iterator[Defect]:
    again = _there_twice(living)
    read = read_keys(words.layout, pa.array(list(again), pa.binary()))
    for key, index in zip(again, read.indexes.tolist(), strict=True):
        row: Any = {"index": index, "key": key, "value": min(again[key])}
        row |= {"copies": len(again[key]), "differ": len(set(again[key])) > 1}
        if index >= 0:
            yield words.of_copies(row)


def _rows_that_differ(words: PairDefects, living: Sequence[StoredPair]) -> set[bytes]:
    """Rows that are there twice, with different values."""
    again = [key for key, values in _there_twice(living).items() if len(set(values)) > 1]
    read = read_keys(words.layout, pa.array(again, pa.binary()))
    primary = words.layout.primary(0)
    rows = zip(read.rows.to_pylist(), read.indexes.tolist(), strict=True)
    return {row for row, index in rows if index == primary}


def _differences(
    words: PairDefects, index: Index, number: int, found: Entries, doubted: set[bytes]
) -> Iterator[Defect]:
    """What the join of a check names, of rows that can be relied on."""
    sides: dict[bool, dict[tuple[bytes, bytes], list[bytes]]] = {True: {}, False: {}}
    columns = (found.keys.to_pylist(), found.rows.to_pylist(), found.values.to_pylist())
    doubtful = doubted | {
        row
        for row, side, of in zip(columns[1], found.sides, found.indexes, strict=True)
        if of == number and (side >= DOUBTFUL or (side == PARTIAL and found.lost))
    }
    for at, (key, row, value) in enumerate(zip(*columns, strict=True)):
        if found.indexes[at] == number and row not in doubtful:
            sides[bool(found.expected[at])].setdefault((key, row), []).append(value)
    asked = Counter(key for key, _ in sides[True])
    for key, row in sorted({*sides[True], *sides[False]}):
        expected, actual = sides[True].get((key, row), []), sides[False].get((key, row), [])
        if index.unique and expected and asked[key] > 1:
            sharing: Any = {"primary_key": [key.hex(), row.hex()], "expected": [expected[0].hex()]}
            yield words.of_shared_key(index, sharing)
            continue
        kind = _kind(expected, actual)
        if kind is not None:
            row_of_join: Any = {
                "kind": kind.value,
                "primary_key": [key.hex(), row.hex()],
                "expected": [expected[0].hex()] if expected else None,
                "actual": [_other(expected, actual).hex()] if actual else None,
                "expected_copies": len(expected),
                "actual_copies": len(actual),
            }
            yield words.of_difference(index, row_of_join)


def _other(expected: list[bytes], actual: list[bytes]) -> bytes:
    return next((value for value in actual if value not in expected), actual[0])


def _kind(expected: list[bytes], actual: list[bytes]) -> DefectKind | None:
    if not actual:
        return DefectKind.MISSING
    if not expected:
        return DefectKind.DANGLING
    return None if set(actual) == set(expected) else DefectKind.WRONG_STORED_VALUE


class LakeOfPairs(PairGround):
    def store(self) -> dict[str, str]:
        return {"kind": "delta", "path": str(self.root)}

    def write(self, relation: str, pairs: Iterable[StoredPair]) -> None:
        keys, values = _columns(pairs)
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
        table = pa.table({"key": keys, "value": values}, schema=schema)
        write_deltalake(str(self.root / relation), table, mode="overwrite")

    def read(self, relation: str) -> list[StoredPair]:
        table = DeltaTable(str(self.root / relation)).to_pyarrow_table(columns=["key", "value"])
        return [(pair["key"], pair["value"]) for pair in table.to_pylist()]


class DatabaseOfPairs(PairGround):
    """Only the relation of all pairs has a primary key: both ways of locking are met."""

    def __init__(self, database: Database, root: Path, *given: Any) -> None:
        self.database = database
        super().__init__(root, *given)
        for relation in self.names:
            guard = "PRIMARY KEY" if len(self.names) == 1 else "NOT NULL"
            database.run(f"CREATE TABLE {relation} (key bytea {guard}, value bytea)")

    def store(self) -> dict[str, str]:
        return {"kind": "postgres", "url": self.database.url}

    def write(self, relation: str, pairs: Iterable[StoredPair]) -> None:
        with self.database.connect() as connection:
            connection.execute(f"DELETE FROM {relation}")
            connection.execute(
                f"INSERT INTO {relation} SELECT * FROM unnest(%s::bytea[], %s::bytea[])",
                _columns(pairs),
            )

    def read(self, relation: str) -> list[StoredPair]:
        return [(k, v) for k, v in self.database.rows(f"SELECT key, value FROM {relation}")]


def _columns(pairs: Iterable[StoredPair]) -> tuple[list[bytes], list[bytes | None]]:
    listed = list(pairs)
    return [key for key, _ in listed], [value for _, value in listed]
