# SPDX-License-Identifier: Apache-2.0
"""Indexes in a real PostgreSQL whose table, with its changes and its history, is the model's."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from repair.streaming.running import Pace, StreamRun
from scrub.model.stream.changes import Change, Changes, Values
from scrub.model.stream.coverage import Coverage
from scrub.model.stream.epochs import Part, WantedPart
from scrub.model.stream.keys import Key
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.changes.streamed_table import describe_table
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.entry_sql import entry_sql
from scrub.stores.postgres.streaming.carried import carried_columns
from scrub.stores.postgres.streaming.index_tables import make_index_tables
from scrub.stores.postgres.streaming.sink import PostgresSink
from scrub.stores.postgres.streaming.streams import Streams
from tests.postgres_server import Database
from tests.repair.streaming.model_stream import IDENTITY, ModelSnapshot, ModelStream
from tests.repair.streaming.model_upstream import Row, Upstream

STRING, BIGINT = ColumnType(TypeName.STRING), ColumnType(TypeName.BIGINT)
COLUMNS = ("k", "v", "s")
BY_V = Index(
    name="by_v",
    store="shop",
    relation="t__by_v",
    key=(EntryColumn(name="v", source="v", type=STRING),),
    suffix=(EntryColumn(name="k", source="k", type=BIGINT),),
    stored=(EntryColumn(name="s", source="s", type=STRING),),
)
SHORT = replace(
    BY_V,
    name="short",
    relation="t__short",
    stored=(),
    where="length(v) < 2 AND v <> 'x'",
    dialect="postgres",
)


def table_of(*indexes: Index) -> Table:
    return Table(
        name="t",
        store="shop",
        relation="t",
        columns=(
            Column(name="k", type=BIGINT, nullable=False),
            Column(name="v", type=STRING),
            Column(name="s", type=STRING),
        ),
        primary_key=("k",),
        indexes=indexes,
    )


def as_text(key: Key, row: Row) -> Values:
    """A row as PostgreSQL spells it; None is NULL."""
    return tuple(None if value is None else str(value) for value in (*key, *row))


class TextSource:
    """The model's changes, with values as PostgreSQL sends them."""

    def __init__(self, model: ModelStream) -> None:
        self.model = model
        self.coverage: Coverage = model.source.coverage

    def open(self, resume: str) -> None:
        self.model.source.open(resume)

    def changes(self, limit: int) -> Changes:
        found = self.model.source.changes(limit)
        return replace(found, changes=tuple(map(_in_text, found.changes)))

    def acknowledge(self, resume: str) -> None:
        self.model.source.acknowledge(resume)


def _in_text(change: Change) -> Change:
    if change.put is None:
        return change
    value, long = change.values
    return replace(change, values=as_text(change.put, (value, long)))


@dataclass(slots=True)
class TextSnapshot:
    held: ModelSnapshot

    @property
    def snapshot(self) -> Any:
        return self.held.snapshot

    def read(self, wanted: Sequence[WantedPart]) -> list[Part]:
        parts = self.held.read(wanted)
        return [
            replace(part, data=[(key, as_text(key, row)) for key, row in part.data])
            for part in parts
        ]


@dataclass(slots=True)
class TextHistory:
    model: ModelStream

    @contextmanager
    def snapshot(self) -> Iterator[TextSnapshot]:
        with self.model.history.snapshot() as held:
            yield TextSnapshot(held)


@dataclass
class Ground:
    """A stream of the model into indexes of a database."""

    database: Database
    upstream: Upstream
    indexes: tuple[Index, ...] = (BY_V, SHORT)
    bounds: Sequence[Key] = ((5,), (12,))
    pace: Pace = field(default_factory=lambda: Pace(parallel=2, rows_max=4))
    create: str = "CREATE TABLE public.t (k bigint PRIMARY KEY, v text, s text)"
    on_sink: Callable[[PostgresSink], None] = lambda _: None
    model: ModelStream = field(init=False)
    run: StreamRun = field(init=False)
    sink: PostgresSink = field(init=False)
    stream: int = field(init=False)

    def __post_init__(self) -> None:
        self.database.run(self.create)
        self.model = ModelStream(self.upstream, bounds=self.bounds)
        with connect(conninfo_of(self.database.url, {})) as connection:
            self._describe(connection)
            streams = Streams("public")
            streams.create(connection)
            numbers = make_index_tables(connection, self.carried, self.entries, None)
            self.stream = streams.add(
                connection,
                table_name="t",
                indexes=[index.name for index in self.indexes],
                relations=numbers,
                slot="slot",
                publication="publication",
                phase="building",
            )

    def _describe(self, connection: Any) -> None:
        table = table_of(*self.indexes)
        self.entries = [entry_sql(connection, "public", table, i) for i in self.indexes]
        self.carried = carried_columns(connection, "public", "t", COLUMNS, 1)
        self.key = describe_table(connection, "public", "t", COLUMNS, ("k",)).key_columns

    def new_sink(self) -> PostgresSink:
        made = PostgresSink(
            conninfo_of(self.database.url, {}),
            "public",
            self.stream,
            uuid.uuid4().hex,
            self.carried,
            self.entries,
            self.key,
        )
        self.on_sink(made)
        return made

    def start(self) -> "Ground":
        """A new process."""
        self.sink = self.new_sink()
        self.run = StreamRun(
            IDENTITY,
            TextSource(self.model),
            TextHistory(self.model),
            self.sink,
            first=self.model._first,
            pace=self.pace,
        )
        self.run.recover()
        return self

    def settle(self) -> None:
        self.upstream.release()
        self.pace.rows_max = max(1, self.pace.rows_max)
        for _ in range(500):
            if self.run.state.is_read and self.model.source.is_drained:
                return
            self.run.epoch()
        raise AssertionError("the stream is stuck")

    def by_v(self) -> set[tuple[Any, ...]]:
        return set(self.database.rows("SELECT v, k, s FROM public.t__by_v"))

    def short(self) -> set[tuple[Any, ...]]:
        return set(self.database.rows("SELECT v, k FROM public.t__short"))

    def demand_entries_of_all_rows(self) -> None:
        rows = self.upstream.rows.items()
        assert self.by_v() == {(row[0], key[0], row[1]) for key, row in rows}
        if SHORT in self.indexes:
            assert self.short() == {
                (row[0], key[0])
                for key, row in rows
                if row[0] is not None and len(str(row[0])) < 2 and row[0] != "x"
            }
