# SPDX-License-Identifier: Apache-2.0
"""A stream from PostgreSQL to PostgreSQL, joined as the command does, led step by step."""

import time
from dataclasses import dataclass

from scrub.app.streaming.session import StreamSession, open_session
from scrub.model.stream.requests import StreamRequest
from scrub.model.table import ChangeFeed, Column, EntryColumn, Index, Store, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.changes.replication import SlotInUse
from scrub.stores.postgres.streaming.beginning import begin
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.removing import remove, take_over_to_remove
from tests.postgres_server import Database

PATIENCE_SECONDS = 60
_TYPES = {
    "id": ColumnType(TypeName.INT),
    "customer": ColumnType(TypeName.INT),
    "note": ColumnType(TypeName.STRING),
}


def _entry(name: str, types: dict[str, ColumnType]) -> EntryColumn:
    return EntryColumn(name=name, source=name, type=types[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is streamed where: orders by customer, with their notes."""

    upstream: Database
    sink: Database
    key: tuple[str, ...] = ("id",)
    stored: tuple[str, ...] = ("note",)
    key_types: tuple[ColumnType, ...] = ()  # if they are not integers
    vnodes: int = 8
    parallel: int = 2
    rows_max: int = 200

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, "customer", *self.stored)

    def stream(self) -> PostgresStream:
        types = _TYPES | dict(zip(self.key, self.key_types, strict=False))
        index = Index(
            name="by_customer",
            store="sink",
            relation="orders__by_customer",
            key=(_entry("customer", types),),
            suffix=tuple(_entry(name, types) for name in self.key),
            stored=tuple(_entry(name, types) for name in self.stored),
        )
        columns = [Column(name=n, type=types[n], nullable=n not in self.key) for n in self.columns]
        table = Table(
            name="orders",
            store="shop",
            relation="orders",
            columns=tuple(columns),
            primary_key=self.key,
            indexes=(index,),
        )
        slot = f"slot_{self.upstream.name}"
        return PostgresStream(
            Store(name="shop", kind="postgres", url=self.upstream.url),
            Store(name="sink", kind="postgres", url=self.sink.url),
            table,
            ChangeFeed(kind="postgres", slot=slot, publication="orders_publication"),
            (index,),
        )


class Joined:
    """One process's view of a stream, which it holds."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.stream = recipe.stream()
        record = self.stream.record() or begin(self.stream)
        self.stream.hold(PATIENCE_SECONDS)
        request = StreamRequest(table="orders", vnodes=recipe.vnodes)
        self.session = _opened(self.stream, record, request)
        self.run = self.session.run
        self.run.pace.parallel, self.run.pace.rows_max = recipe.parallel, recipe.rows_max

    def close(self) -> None:
        self.session.close()
        self.stream.close()

    def drop(self) -> None:
        """Remove what the stream made."""
        self.close()
        stream = self.recipe.stream()
        record = stream.record()
        assert record is not None
        take_over_to_remove(stream, record, PATIENCE_SECONDS)
        remove(stream, record, PATIENCE_SECONDS)
        stream.close()


def _opened(stream: PostgresStream, record: object, request: StreamRequest) -> StreamSession:
    """Again and again: the server takes a while to notice that a reader is gone."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return open_session(stream, record, request)  # type: ignore[arg-type]
        except SlotInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
