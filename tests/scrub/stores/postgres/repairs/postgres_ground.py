# SPDX-License-Identifier: Apache-2.0
"""A table and its index tables in a real PostgreSQL, and what an oracle in plain Python says."""

import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from repair.executing import Executor
from repair.planning import plan_repair
from repair.recovering import settle_recoveries
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.journal import JournalRecord
from scrub.model.repair import ActionOutcome, DoneAction, Entry, RepairPlan
from scrub.model.table import Column, EntryColumn, Index, Store, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.quoting import qualified
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from scrub.stores.postgres.repairs.recovery import RecoveringPostgres
from scrub.stores.repairing import Applied
from tests.postgres_server import Database

STRING, BIGINT = ColumnType(TypeName.STRING), ColumnType(TypeName.BIGINT)
Row = Mapping[str, Value]
Due = Callable[[Row], Entry | None]
"""The entry that a row should have, None if it has none."""


def kv_table(**given: Any) -> Table:
    """k is the primary key, the index is on v and stores s."""
    return table_of(
        {"k": BIGINT, "v": STRING, "s": STRING},
        index_of(key={"v": STRING}, suffix={"k": BIGINT}, stored={"s": STRING}, **given),
    )


def index_of(
    key: Mapping[str, ColumnType],
    suffix: Mapping[str, ColumnType],
    stored: Mapping[str, ColumnType] | None = None,
    name: str = "by_v",
    relation: str = "t__by_v",
    **given: Any,
) -> Index:
    def columns(parts: Mapping[str, ColumnType]) -> tuple[EntryColumn, ...]:
        return tuple(EntryColumn(name=n, source=n, type=type_) for n, type_ in parts.items())

    return Index(
        name=name,
        store="shop",
        relation=relation,
        key=given.pop("columns", None) or columns(key),
        suffix=columns(suffix),
        stored=columns(stored or {}),
        **given,
    )


def table_of(
    columns: Mapping[str, ColumnType],
    *indexes: Index,
    primary_key: Sequence[str] = ("k",),
    relation: str = "t",
) -> Table:
    return Table(
        name="t",
        store="shop",
        relation=relation,
        columns=tuple(
            Column(name=name, type=type_, nullable=name not in primary_key)
            for name, type_ in columns.items()
        ),
        primary_key=tuple(primary_key),
        indexes=indexes,
    )


@dataclass(slots=True)
class Ground:
    """One table of one database, with everything a repair of it needs."""

    database: Database
    table: Table
    schema: str = "public"
    due: Mapping[str, Due] = field(default_factory=dict)  # by index; else the columns as they are
    kept: PostgresRepairs | None = None  # one session for everything, where there is much to do

    @property
    def store(self) -> Store:
        store = Store(name="shop", kind="postgres", url=self.database.url, schema=self.schema)
        return store.in_time_zone(self.table.time_zone)

    @contextmanager
    def repairs(self) -> Iterator[PostgresRepairs]:
        """A session of its own."""
        if self.kept is not None:
            yield self.kept
            return
        opened = RecoveringPostgres(self.store)
        try:
            yield opened
        finally:
            opened.close()

    def repair(self, defects: Sequence[Defect], run: str | None = None) -> list[DoneAction]:
        """What `scrub repair --execute` does once it has defects."""
        plan = plan_repair(defects, {self.table.name: self.table})
        with self.repairs() as store:
            return Executor(store, self.table, run or new_run()).repair(plan.actions)

    def recovery(self) -> RepairPlan:
        """What `--recover-rows` plans now."""
        defects = self.defects()
        tables = {self.table.name: self.table}
        there = [(self.table.name, self._key(row)) for row in self.rows()]
        plan = plan_repair(defects, tables, there, recover_rows=True)
        with self.repairs() as store:
            return settle_recoveries(plan, self.table, store, defects)

    def execute(self, plan: RepairPlan, run: str | None = None) -> list[DoneAction]:
        with self.repairs() as store:
            return Executor(store, self.table, run or new_run()).repair(plan.actions)

    def _key(self, row: Row) -> Entry:
        return {name: row[name] for name in self.table.primary_key}

    def undo(self, of: str, run: str | None = None) -> list[tuple[JournalRecord, Applied]]:
        with self.repairs() as store:
            return Executor(store, self.table, run or new_run()).undo(of)

    def journal(self, run: str) -> list[JournalRecord]:
        with self.repairs() as store:
            return store.journal(run)

    def contents(self, index: str = "by_v") -> list[str]:
        """Every entry as the server writes it, copies too."""
        relation = qualified(self.schema, self.table.index(index).relation)
        return sorted(row[0] for row in self._ask(f"SELECT t::text FROM {relation} t"))

    def rows(self) -> list[dict[str, Value]]:
        return self._read(self.table.relation, [column.name for column in self.table.columns])

    def entries(self, index: str = "by_v") -> list[dict[str, Value]]:
        found = self.table.index(index)
        return self._read(found.relation, [column.name for column in found.entry])

    def expected(self, index: str = "by_v") -> list[Entry]:
        entry_of = self.due.get(index) or self._plain(index)
        return [entry for entry in map(entry_of, self.rows()) if entry is not None]

    def defects(self) -> list[Defect]:
        """Every defect of every index, as a check tells them."""
        return [
            defect
            for index in self.table.indexes
            for defect in compare(
                self.table, index, self.expected(index.name), self.entries(index.name)
            )
        ]

    def assert_right(self) -> None:
        assert self.defects() == []

    def _plain(self, index: str) -> Due:
        columns = self.table.index(index).entry
        return lambda row: {column.name: row[column.source] for column in columns}

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        if self.kept is None:
            return self.database.rows(query)
        return self.kept.connection.execute(query).fetchall()

    def _read(self, relation: str, names: Sequence[str]) -> list[dict[str, Value]]:
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        rows = self._ask(f"SELECT {listed} FROM {qualified(self.schema, relation)}")
        return [dict(zip(names, map(told, row), strict=True)) for row in rows]


def told(value: Any) -> Value:
    """A value as reports tell it."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case Decimal():
            return format(value, "f")
        case datetime(tzinfo=None):
            return value.isoformat()
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case uuid.UUID():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    raise AssertionError(f"no report has a {type(value)}")


def compare(
    table: Table, index: Index, expected: Sequence[Entry], actual: Sequence[Entry]
) -> Iterator[Defect]:
    """The defects between two multisets of entries: the oracle, as the merge join tells them."""
    identity = [column.name for column in (*index.key, *index.suffix)]

    def by_place(entries: Sequence[Entry]) -> dict[tuple[Value, ...], list[Entry]]:
        found = defaultdict(list)
        for entry in entries:
            found[tuple(entry[name] for name in identity)].append(entry)
        return found

    due, there = by_place(expected), by_place(actual)
    for place in sorted(due.keys() | there.keys(), key=repr):
        wanted, found = due[place], there[place]
        lacking = [entry for entry in wanted if entry not in found]
        wrong = [entry for entry in found if entry not in wanted]
        for kind in _kinds(wanted, found, bool(lacking or wrong)):
            yield defect_of(
                table,
                index,
                kind,
                expected=next(iter(lacking or wanted), None),
                actual=next(iter(wrong or found), None),
            )


def _kinds(wanted: Sequence[Entry], found: Sequence[Entry], differ: bool) -> Iterator[DefectKind]:
    if not found:
        yield DefectKind.MISSING
    if not wanted:
        yield DefectKind.DANGLING
    if wanted and found and differ:
        yield DefectKind.WRONG_STORED_VALUE
    if len(found) > max(1, len(wanted)):
        yield DefectKind.DUPLICATE_ENTRY


def defect_of(
    table: Table,
    index: Index | str,
    kind: DefectKind,
    expected: Entry | None = None,
    actual: Entry | None = None,
) -> Defect:
    if isinstance(index, str):
        index = table.index(index)
    entry = expected if expected is not None else actual
    assert entry is not None
    names = {c.source: c.name for c in index.entry if not c.is_expression}
    return Defect(
        kind=kind,
        table=table.name,
        index=index.name,
        primary_key={name: entry[names[name]] for name in table.primary_key},
        index_key={column.name: entry[column.name] for column in index.key},
        expected=expected,
        actual=actual,
        snapshot="now",
    )


def outcomes(done: Sequence[DoneAction]) -> Counter[ActionOutcome]:
    return Counter(one.outcome for one in done)


def new_run() -> str:
    return uuid.uuid4().hex[:12]
