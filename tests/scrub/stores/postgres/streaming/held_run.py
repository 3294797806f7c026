# SPDX-License-Identifier: Apache-2.0
"""One run of a stream under writers, with kills, and with commits held behind a standby."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from repair.streaming.exactly import may_end_at
from scrub.model.stream.epochs import WantedPart
from scrub.model.stream.heard import InOrder
from scrub.model.stream.keys import Slice
from scrub.model.stream.prefix_coverage import PrefixCoverage
from scrub.stores.postgres.changes.lsn import lsn_number
from tests.postgres_server import Database, new_database, start_server, start_server_with
from tests.scrub.stores.postgres.streaming.joined import Joined, Recipe
from tests.scrub.stores.postgres.streaming.writers import CREATE, Writers, differences

ROWS, KEYS = 300, 700
WRITING_SECONDS = 0.8
PATIENCE_SECONDS = 60


class Killed(Exception):
    """The process is gone."""


@contextmanager
def two_databases() -> Iterator[tuple[Database, Database]]:
    """On two servers, so that what holds commits of one does not hold those of the sink."""
    with (
        new_database(start_server_with("wal_level", "logical")) as upstream,
        new_database(start_server()) as sink,
    ):
        yield upstream, sink


class NotTheSnapshot(AssertionError):
    """The index is not what a snapshot shows, and was said to be."""


class HeldRun:
    """A stream that is killed now and then, until it has caught up with writers that ended."""

    def __init__(self, upstream: Database, sink: Database, seed: int, *, by_lsn: bool) -> None:
        self.random = random.Random(f"run {seed}")
        self.seed = seed
        self.upstream = upstream
        self.sink = sink
        self.by_lsn = by_lsn
        self.kills = 0
        self.epochs = 0
        self.looks = 0
        self.recipe = Recipe(
            upstream=upstream,
            sink=sink,
            rows_max=self.random.choice((5, 20, 60)),
            parallel=self.random.randint(1, 4),
            vnodes=self.random.choice((1, 4, 8)),
        )

    def differences(self) -> list[Any]:
        """Between the table and its index in the end; or what made the stream stop before."""
        self.upstream.run(CREATE % ROWS)
        self.joined = self._joined()  # before commits are held: it makes things of its own
        try:
            with (
                holding_now_and_then(self.upstream, self.seed),
                Writers(self.upstream, KEYS, self.seed),
            ):
                self._stream_for(WRITING_SECONDS)
            self._catch_up()
            return differences(self.upstream, self.sink)
        finally:
            self.joined.drop()

    def _stream_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._epoch()
            if self.joined.run.state.is_read and not self.by_lsn:
                self._look()

    def _look(self) -> None:
        """Where the index is said to be a snapshot, it is, while writers go on."""
        try:
            with self.joined.session.history.snapshot() as held:
                run, arriving = self.joined.run, self.joined.session.arriving
                if not may_end_at(run.state, held.snapshot, arriving.coverage):
                    return
                changes = arriving.up_to(held)
                if changes is None:
                    return
                run.exact_epoch(held, changes)
                everything = WantedPart(vnode=0, slice=Slice(), after=None, rows_max=1 << 30)
                (part,) = held.read([everything])
                names = ", ".join(self.recipe.columns)
                entries = self.sink.rows(f"SELECT {names} FROM public.orders__by_customer")
                spelled = [tuple(map(_spelled, entry)) for entry in entries]
                if sorted(spelled) != sorted(tuple(values[:3]) for _, values in part.data):
                    raise NotTheSnapshot(held.snapshot.token)
                self.looks += 1
        except Killed:
            self._killed()

    def _catch_up(self) -> None:
        (end,) = self.upstream.rows("SELECT pg_current_wal_insert_lsn()::text")[0]
        until = time.monotonic() + PATIENCE_SECONDS
        while not (self.joined.run.state.is_read and self._has_heard(lsn_number(end))):
            assert time.monotonic() < until, "the stream does not catch up"
            self._epoch()

    def _has_heard(self, lsn: int) -> bool:
        heard = self.joined.run.state.heard
        assert isinstance(heard, InOrder)
        return heard.marks[""][0] >= lsn

    def _epoch(self) -> None:
        self.epochs += 1
        try:
            self.joined.run.epoch()
        except Killed:
            self._killed()

    def _killed(self) -> None:
        self.kills += 1
        self.joined.close()
        self.joined = self._joined()

    def _joined(self) -> Joined:
        joined = Joined(self.recipe)
        sink, source = joined.session.sink, joined.session.source
        if self.by_lsn:
            source.coverage = joined.session.arriving.coverage = PrefixCoverage()
        sink.commit = self._or_killed(sink.commit)  # type: ignore[method-assign]
        source.acknowledge = self._or_killed(source.acknowledge)  # type: ignore[method-assign]
        return joined

    def _or_killed(self, method: Callable[[Any], None]) -> Callable[[Any], None]:
        def called(argument: Any) -> None:
            if self.random.random() < 0.04:
                raise Killed
            method(argument)

        return called


def _spelled(value: object) -> str | None:
    """As the server writes integers and texts."""
    return None if value is None else str(value)


@contextmanager
def holding_now_and_then(database: Database, seed: int) -> Iterator[None]:
    """Commits wait for a standby that does not exist, for a tenth of a second or so."""
    stopping = threading.Event()
    rng = random.Random(f"holding {seed}")

    def hold() -> None:
        with database.connect() as connection:
            for number in range(10_000):
                names = "''" if number % 2 else "'nobody'"
                connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = {names}")
                connection.execute("SELECT pg_reload_conf()")
                if stopping.wait(rng.uniform(0.02, 0.15)) and number % 2:
                    return

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
