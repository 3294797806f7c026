# SPDX-License-Identifier: Apache-2.0
"""Killing the process that builds, at any moment, and going on; a line for each time."""

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from scrub.model.build import DUTIES, Method, State
from tests.backfill.load import INDEXES, Command, Shop, state_of

_POLL_SECONDS = 0.003
_QUICK_STATE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: so long after a state was seen, or after the start."""

    state: State | None
    delay: float

    def __str__(self) -> str:
        return f"{self.delay:5.2f} s after {self.state or 'the start'}"

    def wait(self, shop: Shop, command: Command) -> bool:
        """Whether the moment came before the command ended."""
        seen_at = command.began if self.state is None else None
        with psycopg.connect(shop.url, autocommit=True) as connection:
            while command.is_running:
                if seen_at is not None and time.monotonic() - seen_at >= self.delay:
                    return True
                if seen_at is None and self._is_reached(connection):
                    seen_at = time.monotonic()
                time.sleep(_POLL_SECONDS)
        return False

    def _is_reached(self, connection: psycopg.Connection[Any]) -> bool:
        """A state that has been passed counts: it will not come again."""
        found = state_of(lambda query: connection.execute(query).fetchall())
        if found in (None, State.PUBLIC, State.REVERSED):
            return False
        order = list(State)
        assert self.state is not None, "asked only when there is one to wait for"
        return order.index(found) >= order.index(self.state)


def any_moments(method: Method, chance: random.Random, longest: float) -> Iterable[Moment]:
    """Half of them about a state, since most pass quickly; half of them at any time at all."""
    states = [state for state in DUTIES[method] if state is not State.PUBLIC]
    while True:
        yield Moment(None, chance.uniform(0, longest))
        yield Moment(chance.choice(states), chance.uniform(0, _QUICK_STATE_SECONDS))


@dataclass(slots=True)
class Kills:
    """A build that is killed again and again."""

    shop: Shop
    method: Method
    options: tuple[str, ...] = ()
    tell: Callable[[str], None] = lambda line: None
    made: int = 0
    published: int = 0

    def survive(self, moments: Iterable[Moment]) -> None:
        """Kill at each moment, go on each time, and come to the end in the end."""
        command = self._run()
        for moment in moments:
            while not moment.wait(self.shop, command):
                self._finish(command)
                command = self._again()
            command.kill()
            self.made += 1
            state = self.shop.state()
            self.tell(f"{self.method} kill {self.made:2}: {moment}, in state {state}")
            command = self._go_on(state)
        self._finish(command)

    def _run(self) -> Command:
        return self.shop.command(
            "run", "orders", *INDEXES, "--method", self.method, "--execute", *self.options
        )

    def _go_on(self, state: State | None) -> Command:
        """What a user would type now."""
        if state is None or state is State.REVERSED:
            return self._run()  # it was killed before it began
        if state is State.PUBLIC:
            self._count()
            return self._again()
        return self.shop.command("resume", "orders", *self.options)

    def _finish(self, command: Command) -> None:
        code = command.end()
        assert code == 0, f"exit code {code}: {command.said}"
        self.tell(f"{self.method} ended after {command.seconds:.0f} s: {_first_lines(command)}")
        self._count()

    def _count(self) -> None:
        assert self.shop.state() is State.PUBLIC
        differences = self.shop.differences()
        assert differences == 0, f"{differences} differences, though it was published"
        self.published += 1
        self.tell(f"{self.method} published, time {self.published}: no differences")

    def _again(self) -> Command:
        for index in INDEXES:
            command = self.shop.command("drop", "orders", index, "--execute")
            assert command.end() == 0, command.said
        assert not self.shop.left_behind()
        return self._run()


def _first_lines(command: Command) -> str:
    return "; ".join(line.strip() for line in command.said.splitlines()[:3])
