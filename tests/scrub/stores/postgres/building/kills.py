# SPDX-License-Identifier: Apache-2.0
"""Killing the process that builds, at any moment, and going on; a line for each time."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from scrub.model.build import DUTIES, Method, State
from tests.scrub.stores.postgres.building.load import INDEXES, QUICK_JVM, Command, Shop, progress_of

_POLL_SECONDS = 0.003
_RESUMABLE = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: so long after the start, or after a state and so many loaded rows were seen."""

    state: State | None
    delay: float = 0.0
    rows: int = 0
    begins: bool = False  # of a new build

    def __str__(self) -> str:
        rows = f" and {self.rows:,} rows" if self.rows else ""
        return f"{self.delay:5.2f} s after {self.state or 'the start'}{rows}"

    def wait(self, shop: Shop, command: Command) -> bool:
        """Whether the moment came before the command ended."""
        seen_at = command.began if self.state is None else None
        with psycopg.connect(shop.url, autocommit=True) as connection:
            before = progress_of(lambda query: connection.execute(query).fetchall()).runner
            while command.is_running:
                if seen_at is not None and time.monotonic() - seen_at >= self.delay:
                    return True
                if seen_at is None and self._is_reached(connection, before):
                    seen_at = time.monotonic()
                time.sleep(_POLL_SECONDS)
        return False

    def _is_reached(self, connection: psycopg.Connection[Any], before: str | None) -> bool:
        """A state that was passed before counts, once the new process is at work."""
        progress = progress_of(lambda query: connection.execute(query).fetchall())
        if progress.state in (None, State.PUBLIC, State.REVERSED) or progress.runner == before:
            return False
        order = [None, *State]
        passed = order.index(progress.state) - order.index(self.state)
        return passed > 0 or (passed == 0 and progress.rows >= self.rows)


def any_moments(method: Method, chance: random.Random, rows: int) -> Iterator[Moment]:
    """Some for each state, build after build: most states pass quickly, so chance needs help."""
    while True:
        yield Moment(None, chance.uniform(0, 3.0), begins=True)
        for state in DUTIES[method]:
            match state:
                case State.BACKFILLING:
                    for count in sorted(chance.sample(range(1, rows), 3)):
                        yield Moment(state, rows=count)
                case State.VALIDATING:
                    yield Moment(state, chance.uniform(0, 1.5))
                    yield Moment(state, chance.uniform(0, 15.0))  # when resumed, Spark starts first
                case State.PUBLIC:
                    pass
                case _:
                    yield Moment(state, chance.uniform(0, 0.5))


@dataclass(slots=True)
class Kills:
    """A build that is killed again and again."""

    shop: Shop
    method: Method
    options: tuple[str, ...] = ()
    tell: Callable[[str], None] = print
    made: int = 0
    published: int = 0

    def survive(self, moments: Iterable[Moment], kills: int) -> None:
        """Kill at moments until there were enough, go on each time, and come to the end."""
        command = self.run()
        for moment in moments:
            if self.made == kills:
                break
            if moment.begins and self.made:
                self.finish(command)
                command = self._again()
            if not moment.wait(self.shop, command):
                self.finish(command)
                command = self._again()
                continue
            command.kill()
            self.made += 1
            progress = self.shop.progress()
            self.tell(f"{self.method} kill {self.made:2}: {moment}: {progress}")
            command = self._go_on(progress.state)
        self.finish(command)

    def survive_restart(self, moment: Moment, rate: int) -> int:
        """The server crashes in the middle of a run, which survives that or can be resumed."""
        with self.shop.traffic(rate):  # it fails with the server, as it should
            command = self.run()
            assert moment.wait(self.shop, command), f"it ended too soon: {command.said}"
            progress = self.shop.progress()
            self.shop.restart()
        with self.shop.traffic(rate) as traffic:
            code = command.end()
            outcome = "the run survived"
            if code == _RESUMABLE:
                outcome = f"the run ended ({command.said.splitlines()[0]}) and was resumed"
                command = self.resume()
            self.finish(command)
        self.tell(f"{self.method} server restarted {moment}: {progress}: {outcome}")
        return traffic.count()

    def run(self) -> Command:
        return self.shop.command(
            "run", "orders", *INDEXES, "--method", self.method, "--execute", *self.options
        )

    def resume(self) -> Command:
        return self.shop.command("resume", "orders", *self.options)

    def _go_on(self, state: State | None) -> Command:
        """What a user would type now."""
        if state is None or state is State.REVERSED:
            return self.run()  # it was killed before it began
        if state is State.PUBLIC:
            self._count()
            return self._again()
        return self.resume()

    def finish(self, command: Command) -> None:
        code = command.end()
        assert code == 0, f"exit code {code}: {command.said}"
        self.tell(f"{self.method} ended after {command.seconds:.0f} s: {_first_lines(command)}")
        self._count()

    def _count(self) -> None:
        assert self.shop.progress().state is State.PUBLIC
        differences = self.shop.differences()
        assert differences == 0, f"{differences} differences, though it was published"
        self.published += 1
        self.tell(f"{self.method} published, time {self.published}: no differences")

    def _again(self) -> Command:
        self.remove()
        return self.run()

    def verify(self) -> None:
        """Nobody writes any more: the check is clean, and the server finds no difference either."""
        command = self.shop.command("verify", "orders", *INDEXES, *QUICK_JVM)
        assert command.end() == 0, command.said
        assert self.shop.differences() == 0
        self.tell(f"{self.method} the check is clean")

    def remove(self) -> None:
        """Drop what was published; nothing may be left of it."""
        for index in INDEXES:
            command = self.shop.command("drop", "orders", index, "--execute")
            assert command.end() == 0, command.said
        assert not self.shop.left_behind()


def _first_lines(command: Command) -> str:
    return "; ".join(line.strip() for line in command.said.splitlines()[:3])
