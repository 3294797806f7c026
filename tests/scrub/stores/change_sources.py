# SPDX-License-Identifier: Apache-2.0
"""Change sources under one contract: a table of integers and texts, and what is done to it."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.state import Start
from scrub.stores.streaming import ChangeSource
from tests.postgres_server import new_database, start_server_with
from tests.repair.streaming.model_stream import ModelSource
from tests.repair.streaming.model_upstream import Upstream
from tests.scrub.stores.postgres.changes.ground import Ground


class SourceGround(Protocol):
    """A source and its table, whose rows are an integer and a text."""

    source: ChangeSource

    @abstractmethod
    def start(self) -> Start:
        """Make what the source needs, and open it."""

    @abstractmethod
    def reopen(self, resume: str) -> None:
        """As another process does."""

    @abstractmethod
    def transaction(self, *writes: tuple[Any, ...]) -> None:
        """("put", key, text), ("delete", key) or ("move", key, new key)."""

    @abstractmethod
    def snapshot(self) -> HistorySnapshot: ...


class ModelGround:
    """The model of `tests/repair/streaming`."""

    def __init__(self, *, shows_transactions: bool) -> None:
        self.upstream = Upstream({}, shows_transactions=shows_transactions)
        self._source = ModelSource(self.upstream, lambda _: None)
        self.source: ChangeSource = self._source

    def start(self) -> Start:
        return self._source.create()

    def reopen(self, resume: str) -> None:
        self.source.open(resume)

    def transaction(self, *writes: tuple[Any, ...]) -> None:
        self.upstream.commit(*writes)

    def snapshot(self) -> HistorySnapshot:
        return self.upstream.snapshot()[0]


class PostgresGround:
    """A replication slot of a real server."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.source: ChangeSource

    def start(self) -> Start:
        start = self._ground.start("v")
        self._adopt()
        return start

    def reopen(self, resume: str) -> None:
        self._ground.close_source()
        self._ground.open(resume, "v")
        self._adopt()

    def _adopt(self) -> None:
        assert self._ground.source is not None
        self.source = self._ground.source

    def transaction(self, *writes: tuple[Any, ...]) -> None:
        with self._ground.database.connect() as connection, connection.transaction():
            for kind, key, *rest in writes:
                match kind:
                    case "put":
                        connection.execute(
                            "INSERT INTO public.t (id, v) VALUES (%s, %s) "
                            "ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v",
                            (key, *rest),
                        )
                    case "delete":
                        connection.execute("DELETE FROM public.t WHERE id = %s", (key,))
                    case "move":
                        change = "UPDATE public.t SET id = %s WHERE id = %s"
                        connection.execute(change, (*rest, key))

    def snapshot(self) -> HistorySnapshot:
        return self._ground.snapshot()


@contextmanager
def _model(*, shows_transactions: bool) -> Iterator[SourceGround]:
    yield ModelGround(shows_transactions=shows_transactions)


@contextmanager
def _postgres() -> Iterator[SourceGround]:
    with new_database(start_server_with("wal_level", "logical")) as database:
        ground = Ground(database)
        try:
            yield PostgresGround(ground)
        finally:
            ground.close()


SOURCES = {
    "model with a prefix": lambda: _model(shows_transactions=False),
    "model with transactions": lambda: _model(shows_transactions=True),
    "postgres": _postgres,
}
