# SPDX-License-Identifier: Apache-2.0
"""A table in a real PostgreSQL, and a build of an index that tests take one step at a time."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from scrub.model.build import Method, State, next_state
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.building import LOAD, Clash, GaveWay, Step
from scrub.stores.postgres.building.beginning import begin, entries_of
from scrub.stores.postgres.building.build import BuildPlace, PostgresBuild
from scrub.stores.postgres.building.builds import Builds
from scrub.stores.postgres.connections import conninfo_of
from tests.postgres_server import Database

STRING, BIGINT = ColumnType(TypeName.STRING), ColumnType(TypeName.BIGINT)
PLENTY = 1_000
_TRIES = 200


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
    build: PostgresBuild = field(init=False)
    steps: list[Step] = field(default_factory=list)

    def create(self, nullable: bool = False) -> None:
        null = "" if nullable else " NOT NULL"
        self.database.run(f"CREATE TABLE t (k bigint PRIMARY KEY, v text{null}, s text)")

    def begin(self) -> None:
        with self.database.connect() as connection:
            entries = entries_of(connection, "public", self.table, self.table.indexes)
            build = begin(connection, "public", self.table, entries, self.method, None)
            runner = uuid.uuid4().hex
            Builds("public").change(connection, build, runner=runner)
        place = BuildPlace(
            conninfo_of(self.database.url, {}), "public", "t", build, runner, self.method, entries
        )
        self.build = PostgresBuild(place)

    def advance(self) -> State:
        """To the next state, once nobody is left from before."""
        state = next_state(self.method, self.build.state)
        self.build.advance(state)
        assert not self.build.blockers()
        return state

    def advance_to(self, state: State) -> None:
        while self.build.state is not state:
            self.work()
            self.advance()

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

    def load(self) -> None:
        while self.build.unfinished(LOAD):
            step = persistently(lambda: self.build.load_step(0, PLENTY))
            self.steps.append(step)
            if step.clashes:
                raise Clashed(step.clashes)

    def merge(self) -> None:
        while self.build.unfinished("by_v"):
            persistently(lambda: self.build.merge_step("by_v", 0, PLENTY))

    def settle(self) -> None:
        for step in (self.build.clear_step, self.build.verify_step):
            while not (done := persistently(lambda step=step: step(PLENTY))).finished:
                if done.clashes:
                    raise Clashed(done.clashes)

    def publish(self) -> None:
        self.advance_to(State.VALIDATING)
        self.settle()
        clashes = persistently(self.build.publish)
        if clashes:
            raise Clashed(clashes)

    def entries(self, mark: bool = False) -> list[tuple[Any, ...]]:
        """What the index holds; with `mark`, tombstones too."""
        names = "v, k, s" if self.table.indexes[0].stored else "v, k"
        marked = ", scrub_deleted" if mark else ""
        is_public = self.build.state is State.PUBLIC
        where = "" if mark or is_public else " WHERE NOT scrub_deleted"
        return self.database.rows(f"SELECT {names}{marked} FROM t__by_v{where} ORDER BY 1, 2")

    def expected(self) -> list[tuple[Any, ...]]:
        names = "v, k, s" if self.table.indexes[0].stored else "v, k"
        return self.database.rows(f"SELECT {names} FROM t ORDER BY 1, 2")

    def writer(self) -> psycopg.Connection[Any]:
        """A session in a transaction."""
        return psycopg.connect(self.database.url)


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
