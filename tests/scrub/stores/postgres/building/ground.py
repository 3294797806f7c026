# SPDX-License-Identifier: Apache-2.0
"""A table in a real PostgreSQL, and a build of an index that tests take one step at a time."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import psycopg
import pytest

from scrub.model.build import DUTIES, Method, State, next_state
from scrub.model.entry_shape import MARK
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.building import LOAD, Clash, GaveWay, Step
from scrub.stores.postgres.building.beginning import NewBuild, begin, entries_of
from scrub.stores.postgres.building.build import PostgresBuild
from scrub.stores.postgres.building.builds import Builds
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.connections import conninfo_of
from tests.postgres_server import Database

STRING, BIGINT = ColumnType(TypeName.STRING), ColumnType(TypeName.BIGINT)
PLENTY = 1_000
TABLE = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
ROWS = "INSERT INTO t SELECT n, chr(96 + n::int) FROM generate_series(1, 9) AS n"
with_and_without_the_rule = pytest.mark.parametrize("rule", [True, False], ids=["rule", "no_rule"])
_TRIES = 200
_SOON = 20.0  # seconds after which what was waited for will never happen

Result = TypeVar("Result")


def kv_table(unique: bool, nullable: bool = False, stored: bool = False) -> Table:
    """Document 000's table: k is the primary key, the index is on v."""
    index = Index(
        name="by_v",
        store="shop",
        relation="t__by_v",
        key=(EntryColumn(name="v", source="v", type=STRING),),
        suffix=(EntryColumn(name="k", source="k", type=BIGINT),),
        stored=(EntryColumn(name="s", source="s", type=STRING),) if stored else (),
        unique=unique,
    )
    return Table(
        name="t",
        store="shop",
        relation="t",
        columns=(
            Column(name="k", type=BIGINT, nullable=False),
            Column(name="v", type=STRING, nullable=nullable),
            Column(name="s", type=STRING),
        ),
        primary_key=("k",),
        indexes=(index,),
    )


@dataclass(slots=True)
class Ground:
    """The table, the build, and sessions that write meanwhile."""

    database: Database
    table: Table
    method: Method
    schema: str = "public"
    puts_plainly: bool = True
    owner: str | None = None
    build: PostgresBuild = field(init=False)
    steps: list[Step] = field(default_factory=list)

    def create(self, nullable: bool = False) -> None:
        null = "" if nullable else " NOT NULL"
        self.database.run(f"CREATE TABLE t (k bigint PRIMARY KEY, v text{null}, s text)")

    def begin(self) -> None:
        with self.database.connect() as connection:
            entries = entries_of(connection, self.schema, self.table, self.table.indexes)
            new = NewBuild(self.schema, self.owner, self.table, self.method, entries)
            build = persistently(lambda: begin(connection, new, None))
            runner = uuid.uuid4().hex
            Builds(self.schema).change(connection, build, runner=runner)
        self.build = PostgresBuild(
            BuildPlace(
                conninfo_of(self.database.url, {}),
                self.schema,
                self.table.relation,
                build,
                runner,
                self.method,
                entries,
            ),
            self.puts_plainly,
        )

    def begin_merge(self, *recorded: str) -> None:
        """Be about to merge what writers did while rows were loaded."""
        self.advance_to(State.BACKFILLING)
        self.database.run(*recorded)
        self.advance_to(State.MERGING)
        self.build.plan_merge()

    def another(self) -> PostgresBuild:
        """The same build in a session of its own."""
        return PostgresBuild(self.build.place)

    def advance(self) -> State:
        """To the next state, once nobody is left from before."""
        state = next_state(self.method, self.build.state)
        self.build.advance(state)
        until(lambda: not self.build.blockers())
        return state

    def advance_to(self, state: State) -> None:
        while self.build.state is not state:
            self.work()
            self.advance()

    def arrive_at(self, state: State) -> None:
        """To a state, and into the middle of its work where it has some; public is made so."""
        if state is State.PUBLIC:
            self.publish()
            return
        self.advance_to(state)
        match state:
            case State.BACKFILLING:
                persistently(lambda: self.build.load_step(0, 1))
            case State.MERGING:
                self.build.plan_merge()
                for index in self.table.indexes:
                    persistently(lambda name=index.name: self.build.merge_step(name, 0, 1))

    def work(self) -> None:
        """Everything that is to be done in the present state."""
        match self.build.state:
            case State.WRITE_AND_DELETE:
                self.build.plan_load(1)
            case State.BACKFILLING:
                self.load()
            case State.MERGING:
                self.build.plan_merge()
                self.merge()
            case State.VALIDATING:
                self.settle()

    def load(self, rows: int = PLENTY) -> None:
        while ranges := self.build.unfinished(LOAD):
            for number in ranges:
                step = persistently(lambda number=number: self.build.load_step(number, rows))
                self.steps.append(step)
                if step.clashes:
                    raise Clashed(step.clashes)

    def merge(self, rows: int = PLENTY) -> None:
        for index in self.table.indexes:
            while self.build.unfinished(index.name):
                persistently(lambda name=index.name: self.build.merge_step(name, 0, rows))

    def settle(self) -> None:
        for step in (self.build.clear_step, self.build.verify_step):
            while not (done := persistently(lambda step=step: step(PLENTY))).finished:
                if done.clashes:
                    raise Clashed(done.clashes)

    def publish(self) -> None:
        if self.build.state is State.PUBLIC:
            return
        self.advance_to(State.VALIDATING)
        self.settle()
        clashes = persistently(self.build.publish)
        if clashes:
            raise Clashed(clashes)

    def reverse(self, reason: str = "a test") -> None:
        self.build.advance(State.REVERSING, reason)
        persistently(self.build.reverse)

    def entries(self, mark: bool = False, index: int = 0) -> list[tuple[Any, ...]]:
        """What the index holds; with `mark`, tombstones too."""
        return self._held(self.build.place.entries[index].relation, mark, index)

    def recorded(self, index: int = 0) -> list[tuple[Any, ...]]:
        """What the temporary index holds, deletions too."""
        return self._held(self.build.place.entries[index].temporary, True, index)

    def _held(self, relation: str, mark: bool, index: int) -> list[tuple[Any, ...]]:
        names = ", ".join(self.build.place.entries[index].names)
        marked = f", {MARK}" if mark else ""
        is_public = self.build.state is State.PUBLIC
        where = "" if mark or is_public else f" WHERE NOT {MARK}"
        query = f"SELECT {names}{marked} FROM {relation}{where} ORDER BY {self._order(index)}"
        return self.database.rows(query)

    def _order(self, index: int) -> str:
        return ", ".join(str(n + 1) for n in range(len(self.build.place.entries[index].names)))

    def suspects(self) -> list[tuple[Any, ...]]:
        relation = self.build.place.entries[0].suspects
        return sorted(set(self.database.rows(f"SELECT * FROM {relation}")))

    def expected(self, index: int = 0) -> list[tuple[Any, ...]]:
        """What the table says that the index should hold."""
        entry = self.build.place.entries[index]
        values = ", ".join(part.value for part in entry.parts)
        return self.database.rows(
            f"SELECT {values} FROM {entry.table} WHERE {entry.covered} "
            f"ORDER BY {self._order(index)}"
        )

    @property
    def is_right(self) -> bool:
        """Whether the index holds what the table says, if it is not public yet, too."""
        return self.entries() == self.expected()

    def assert_right(self) -> None:
        """Every index is public and holds what the table says."""
        assert self.build.state is State.PUBLIC
        for index in range(len(self.table.indexes)):
            assert self.entries(index=index) == self.expected(index=index)

    def writer(self, **parameters: Any) -> psycopg.Connection[Any]:
        """A session in a transaction."""
        return psycopg.connect(self.database.url, **parameters)

    def is_waiting(self) -> bool:
        """Whether some session waits for another's lock."""
        query = (
            "SELECT 1 FROM pg_stat_activity "
            "WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return bool(self.database.rows(query))


STATES = [(method, state) for method in Method for state in DUTIES[method]]
"""Every state in which writers write, of both methods."""


class Background(Generic[Result]):
    """A call in a thread of its own; what it returned or raised comes with `result`."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
            self._errors.append(error)

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Result:
        self._thread.join(_SOON)
        assert self.is_done, "it never ended"
        if self._errors:
            raise self._errors[0]
        return self._results[0]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SOON
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


@contextmanager
def building(
    database: Database, table: Table, method: Method, *statements: str
) -> Iterator[Ground]:
    """A build that has begun, on a table that the statements made."""
    ground = Ground(database, table, method)
    if statements:
        database.run(*statements)
    ground.begin()
    try:
        yield ground
    finally:
        ground.build.close()


class Clashed(Exception):
    """Two rows have one key."""

    def __init__(self, clashes: Sequence[Clash]) -> None:
        super().__init__("; ".join(map(str, clashes)))
        self.clashes = clashes


def persistently(step: Any) -> Any:
    """The step, tried again for as long as somebody is in its way."""
    for _ in range(_TRIES):
        try:
            return step()
        except GaveWay:
            continue
    raise AssertionError("the step never came through")
