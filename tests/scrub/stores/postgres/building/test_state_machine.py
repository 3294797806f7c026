# SPDX-License-Identifier: Apache-2.0
"""Random interleavings of writers, builders and crashes, against a plain dictionary.

Whatever happens in between: no writer ever fails, and in the end either the index is public and
holds exactly what the table says, or two rows with one key were named while both were there.

SCRUB_INTERLEAVINGS asks for another number of them, of the model and of PostgreSQL: "10000,500".
Then they are different ones each time.
"""

import os
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, ClassVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import errors

from scrub.model.build import DUTIES, Duties, Duty, Method, State, next_state
from scrub.stores.building import LOAD, Clash, GaveWay, IndexBuild
from scrub.stores.postgres.building.build import PostgresBuild
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Ground, kv_table, persistently
from tests.scrub.stores.postgres.building.model_build import (
    INDEX,
    Batch,
    Change,
    Chunk,
    ModelBuild,
    Refused,
    Row,
    Rules,
    Value,
)

pytestmark = pytest.mark.slow

_ASKED = os.environ.get("SCRUB_INTERLEAVINGS")
ON_MODEL, ON_POSTGRES = map(int, (_ASKED or "500,50").split(","))
ENDED = (State.PUBLIC, State.REVERSED)

_KEYS = range(7)
_VALUES = (None, *range(7))
_KINDS = ("put", "put", "put", "delete", "delete", "move", "move", "swap", "swap")
Write = tuple[str, int, int, Value]
ALL_WRITES = list(product(_KINDS, _KEYS, _KEYS, _VALUES))
WRITES = st.sampled_from(ALL_WRITES)
FIRST_ROWS = st.lists(st.sampled_from(list(product(_KEYS, _VALUES))), min_size=2, max_size=6)


def _changed(rows: Mapping[int, Value], write: Write) -> list[Change]:
    """What a write does to the rows that are there; nothing, if it cannot be done."""
    kind, k, other, v = write
    row = Row(k, rows[k]) if k in rows else None
    match kind:
        case "put":
            return [Change(row, Row(k, v))]
        case "delete" if row is not None:
            return [Change(row, None)]
        case "move" if row is not None and other not in rows:
            return [Change(row, Row(other, row.v))]
        case "swap" if row is not None and other in rows and other != k:
            second = Row(other, rows[other])
            return [Change(row, Row(k, second.v)), Change(second, Row(other, row.v))]
    return []


def _apply(rows: dict[int, Value], changes: Iterable[Change]) -> dict[int, Value]:
    after = dict(rows)
    for change in changes:
        if change.old is not None:
            after.pop(change.old.k, None)
    for change in changes:
        if change.new is not None:
            after[change.new.k] = change.new.v
    return after


def _has_duplicates(rows: Mapping[int, Value]) -> bool:
    known = [v for v in rows.values() if v is not None]
    return len(known) != len(set(known))


class Interleavings(RuleBasedStateMachine):
    """What both stores have in common."""

    build: IndexBuild
    unique: bool
    careful: bool  # so that builds of unique indexes come to a good end too
    rows: dict[int, Value]
    planned: bool
    has_clashed: bool

    @initialize(
        method=st.sampled_from(list(Method)),
        unique=st.booleans(),
        careful=st.sampled_from([True, True, False]),
        rows=FIRST_ROWS,
    )
    def begin(
        self, method: Method, unique: bool, careful: bool, rows: Sequence[tuple[int, Value]]
    ) -> None:
        self.unique, self.careful = unique, careful
        self.rows = {}
        for k, v in rows:
            if not self._is_forbidden({**self.rows, k: v}):
                self.rows[k] = v
        self.planned = self.has_clashed = False
        self._begin(method)

    @abstractmethod
    def _begin(self, method: Method) -> None:
        """Begin the build."""

    @abstractmethod
    def _write(self, changes: Sequence[Change]) -> bool:
        """Whether it was written: not, if it would have had to wait. Raises Refused."""

    def _is_forbidden(self, rows: Mapping[int, Value]) -> bool:
        return self.unique and self.careful and _has_duplicates(rows)

    @property
    @abstractmethod
    def _is_free(self) -> bool:
        """Whether nobody is in the middle of something."""

    @property
    def state(self) -> State:
        return self.build.state

    @property
    def _may_work(self) -> bool:
        return self.state not in ENDED and not self.build.blockers()

    @rule(write=WRITES)
    def write(self, write: Write) -> None:
        changes = _changed(self.rows, write)
        after = _apply(self.rows, changes)
        if not changes or self._is_forbidden(after):
            return
        is_public = self.state is State.PUBLIC
        try:
            if self._write(changes):
                assert not (is_public and self.unique and _has_duplicates(after))
                self.rows = after
        except Refused:
            assert is_public
            assert self.unique
            assert _has_duplicates(after)

    @precondition(lambda self: self._may_work and self.state is not State.VALIDATING)
    @rule()
    def advance(self) -> None:
        """To the next state, if the work of this one is done; else to the plan of it."""
        state = self.state
        if state is State.WRITE_AND_DELETE:
            self.build.plan_load(2)
        if state is State.MERGING and not self.planned:
            self.build.plan_merge()
            self.planned = True
        phase = {State.BACKFILLING: LOAD, State.MERGING: INDEX}.get(state)
        if phase is None or (self._is_free and not self.build.unfinished(phase)):
            self.build.advance(next_state(self.build.method, state))

    @precondition(lambda self: self._may_work and self.state is State.VALIDATING)
    @rule(what=st.sampled_from(["clear", "verify", "publish"]), rows=st.integers(1, 3))
    def settle(self, what: str, rows: int) -> None:
        clashes: Sequence[Clash] = ()
        try:
            if what == "clear":
                self.build.clear_step(rows)
            elif what == "verify":
                clashes = self.build.verify_step(rows).clashes
            elif self._is_free:
                clashes = self.build.publish()
        except GaveWay:
            return
        self._look_at(clashes)

    def _look_at(self, clashes: Sequence[Clash]) -> None:
        """Rows that clash are named only while both have the key; then the build is reversed."""
        if not clashes:
            return
        for clash in clashes:
            row, owner = int(clash.row["k"]), int(clash.owner["k"])
            assert self.unique
            assert row != owner
            assert {row, owner} <= self.rows.keys()
            assert self.rows[row] is not None
            assert self.rows[row] == self.rows[owner]
        self.has_clashed = True
        self._stop_working()
        self.build.advance(State.REVERSING, "rows clash")
        self._reverse()

    def _stop_working(self) -> None:
        """Forget what was begun."""

    def _reverse(self) -> None:
        self.build.reverse()

    @abstractmethod
    def _end_writers(self) -> None:
        """Let whoever writes come to an end."""

    @abstractmethod
    def _finish_phase(self) -> None:
        """Do all that is left to do in the present state."""

    def teardown(self) -> None:
        """To the end, with nobody in the way, and look."""
        if not hasattr(self, "build"):
            return
        self._end_writers()
        while self.state not in ENDED:
            if self.state is State.VALIDATING:
                for what in ("clear", "verify", "publish"):
                    if self.state is State.VALIDATING:
                        self.settle(what, 100)
                continue
            self._finish_phase()
            if self.state not in ENDED:
                self.advance()
        if self.state is State.REVERSED:
            assert self.has_clashed
        else:
            assert not (self.unique and _has_duplicates(self.rows))
            assert self._entries() == sorted(self.rows.items(), key=str)
        self._check_table()

    @abstractmethod
    def _entries(self) -> list[tuple[int, Value]]:
        """What the index holds: owners and values."""

    @abstractmethod
    def _check_table(self) -> None:
        """That the table holds what was written."""


class OnModel(Interleavings):
    """Half steps, and writers that are late by a state."""

    followed: ClassVar[Rules] = Rules()
    build: ModelBuild
    late: list[int]
    begun: list[Chunk | Batch]

    def _begin(self, method: Method) -> None:
        self.build = ModelBuild(method, self.unique, self.followed, rows=dict(self.rows))
        self.late, self.begun = [], []

    def _write(self, changes: Sequence[Change]) -> bool:
        self.build.write(changes)
        return True

    @property
    def _is_free(self) -> bool:
        return not self.late and not self.begun

    @precondition(lambda self: self._is_free)
    @rule()
    def truncate(self) -> None:
        """Whoever truncates has locked the table against everybody."""
        self.rows = {}
        self.build.truncate()

    @precondition(lambda self: self.state not in ENDED and len(self.late) < 2)
    @rule()
    def begin_writing(self) -> None:
        self.late.append(self.build.begin_writing())

    @precondition(lambda self: self.late)
    @rule(write=WRITES, end=st.booleans())
    def write_late(self, write: Write, end: bool) -> None:
        """As in the state in which the transaction began."""
        changes = _changed(self.rows, write)
        after = _apply(self.rows, changes)
        if changes and not self._is_forbidden(after):
            self.build.write(changes, self.late[0])
            self.rows = after
        if end:
            self.build.end_writing(self.late.pop(0))

    @precondition(lambda self: self._may_work and self.state is State.BACKFILLING)
    @rule(last=st.booleans(), rows=st.integers(1, 3))
    def scan(self, last: bool, rows: int) -> None:
        taken = {chunk.number for chunk in self.begun if isinstance(chunk, Chunk)}
        free = [number for number in self.build.unfinished(LOAD) if number not in taken]
        if free:
            self.begun.append(self.build.scan(free[-1 if last else 0], rows))

    @precondition(lambda self: self._may_work and self.planned and not self.begun)
    @rule(rows=st.integers(1, 3))
    def list_records(self, rows: int) -> None:
        if self.state is State.MERGING and self.build.unfinished(INDEX):
            self.begun.append(self.build.list_records(rows))

    @precondition(lambda self: self.begun)
    @rule()
    def go_on(self) -> None:
        """The other half of the step that was begun first."""
        begun = self.begun.pop(0)
        if isinstance(begun, Batch):
            self.build.copy(begun)
        elif begun.slow:
            self._look_at(self.build.put_slowly(begun).clashes)
        elif self.build.put(begun) is None:
            self.begun.append(self.build.list_slowly(begun.number, begun.limit))

    @precondition(lambda self: self.begun)
    @rule(put=st.integers(0, 2))
    def crash(self, put: int) -> None:
        """Some entries may have been put, but nothing else is remembered."""
        for begun in self.begun:
            if isinstance(begun, Chunk) and not begun.slow:
                self.build.put(begun, only=put)
        self.begun, self.planned = [], False

    def take(self, random: Random) -> None:
        """One step by chance."""
        can_begin = self._may_work and len(self.begun) < 2
        match random.randrange(12):
            case 0 | 1 | 2:
                self.write(random.choice(ALL_WRITES))
            case 3 | 4 if self.late:
                self.write_late(random.choice(ALL_WRITES), random.random() < 0.5)
            case 5 if self.state not in ENDED and len(self.late) < 2:
                self.begin_writing()
            case 5 | 6 if self._may_work:
                self._settle_or_advance(random)
            case 7 | 8 if can_begin and self.state is State.BACKFILLING:
                self.scan(random.random() < 0.5, random.randint(1, 3))
            case 7 | 8 if can_begin and self.planned and not self.begun:
                self.list_records(random.randint(1, 3))
            case 9 | 10 if self.begun:
                self.go_on()
            case 11 if self.begun and random.random() < 0.2:
                self.crash(random.randint(0, 2))
            case 11 if self._is_free and random.random() < 0.1:
                self.truncate()

    def _settle_or_advance(self, random: Random) -> None:
        if self.state is State.VALIDATING:
            self.settle(random.choice(["clear", "verify", "publish"]), random.randint(1, 3))
        else:
            self.advance()

    def _stop_working(self) -> None:
        self.begun = []

    def _end_writers(self) -> None:
        while self.late:
            self.build.end_writing(self.late.pop())

    def _finish_phase(self) -> None:
        while self.begun:
            self.go_on()
        if self.state is State.BACKFILLING:
            for number in self.build.unfinished(LOAD):
                while self.state is State.BACKFILLING and self.build.claim(LOAD, number):
                    self._look_at(self.build.load_step(number, 2).clashes)
        elif self.state is State.MERGING:
            self.build.plan_merge()
            while self.build.unfinished(INDEX):
                self.build.merge_step(INDEX, 0, 2)

    def _entries(self) -> list[tuple[int, Value]]:
        live = [key for key, entry in self.build.index.items() if not entry.deleted]
        entries = self.build.entries()
        assert len(entries) == len(live)
        return sorted(map(tuple, entries), key=str)  # type: ignore[arg-type]

    def _check_table(self) -> None:
        assert self.build.rows == self.rows


class OnPostgres(Interleavings):
    """Whole steps, one transaction that stays open, and sessions that are lost."""

    database: ClassVar[Database]
    build: PostgresBuild
    ground: Ground
    session: psycopg.Connection[Any]
    open: psycopg.Connection[Any] | None
    opened_in: State
    pending: list[Change]  # what the open transaction does

    def _begin(self, method: Method) -> None:
        self.session = self.database.connect()
        self.open, self.pending = None, []
        for statement in _CLEANING:
            self.session.execute(statement)
        for k, v in self.rows.items():
            self.session.execute("INSERT INTO t VALUES (%s, %s)", (k, v))
        self.ground = Ground(self.database, kv_table(self.unique, nullable=True), method)
        persistently(self.ground.begin)
        self.build = self.ground.build
        self._be_impatient()

    def _be_impatient(self) -> None:
        """Less time than a server gives, since here it is always the open transaction."""
        self.build.session.patience = _PATIENCE
        self.__dict__.pop("known", None)

    @property
    def state(self) -> State:
        """Read once; it changes with what is done here."""
        if "known" not in self.__dict__:
            self.__dict__["known"] = self.build.state
        known: State = self.__dict__["known"]
        return known

    @property
    def _may_work(self) -> bool:
        is_blocked = self.open is not None and self.opened_in is not self.state
        return self.state not in ENDED and not is_blocked

    @property
    def _is_free(self) -> bool:
        return self.open is None

    def _is_forbidden(self, rows: Mapping[int, Value]) -> bool:
        both = _apply(dict(rows), getattr(self, "pending", []))
        return super()._is_forbidden(rows) or super()._is_forbidden(both)

    def _write(self, changes: Sequence[Change]) -> bool:
        try:
            self.session.execute(_statement(changes))
        except errors.LockNotAvailable:
            assert self.open is not None
            return False
        except errors.UniqueViolation as error:
            raise Refused from error
        return True

    @precondition(lambda self: self._is_free)
    @rule()
    def truncate(self) -> None:
        self.session.execute("TRUNCATE t")
        self.rows = {}

    @precondition(lambda self: self.state not in ENDED and self._is_free)
    @rule(write=WRITES)
    def open_writer(self, write: Write) -> None:
        changes = _changed(self.rows, write)
        if changes and not self._is_forbidden(_apply(self.rows, changes)):
            self.open = psycopg.connect(self.database.url)
            self.open.execute(_statement(changes))
            # Whoever waits now may wait for this one, which does not go on by itself.
            self.session.execute("SET lock_timeout = '15ms'")
            self.opened_in, self.pending = self.state, changes

    @precondition(lambda self: not self._is_free)
    @rule(commit=st.booleans())
    def close_writer(self, commit: bool) -> None:
        assert self.open is not None
        assert len(self.build.blockers()) == 1
        if commit:
            self.open.commit()
            self.rows = _apply(self.rows, self.pending)
        else:
            self.open.rollback()  # not left to the server, which may take its time
        self.open.close()
        self.session.execute("SET lock_timeout = 0")
        self.open, self.pending = None, []

    @rule()
    @precondition(lambda self: self._may_work and self.state is not State.VALIDATING)
    def advance(self) -> None:
        super().advance()
        self.__dict__.pop("known", None)

    @precondition(lambda self: self._may_work and self.state is State.VALIDATING)
    @rule(what=st.sampled_from(["clear", "verify", "publish"]), rows=st.integers(1, 3))
    def settle(self, what: str, rows: int) -> None:
        super().settle(what, rows)
        self.__dict__.pop("known", None)

    @precondition(lambda self: self._may_work and self.state in (State.BACKFILLING, State.MERGING))
    @rule(last=st.booleans(), rows=st.integers(1, 3))
    def work(self, last: bool, rows: int) -> None:
        phase = LOAD if self.state is State.BACKFILLING else INDEX
        unfinished = self.build.unfinished(phase)
        if not unfinished:
            return
        number = unfinished[-1 if last else 0]
        try:
            if phase == LOAD:
                self._look_at(self.build.load_step(number, rows).clashes)
            else:
                self.build.merge_step(INDEX, number, rows)
        except GaveWay:
            return

    @rule()
    def crash(self) -> None:
        """Another process goes on with what is recorded."""
        self.build.close()
        runner = uuid.uuid4().hex
        place = replace(self.build.place, runner=runner)
        self.build = PostgresBuild(place)
        self.build.builds.change(self.session, place.build, runner=runner)
        self.planned = False
        self._be_impatient()

    def _stop_working(self) -> None:
        self._end_writers()

    def _reverse(self) -> None:
        persistently(self.build.reverse)
        self.__dict__.pop("known", None)
        assert self.session.execute("SELECT to_regclass('t__by_v')").fetchone() == (None,)

    def _end_writers(self) -> None:
        if self.open is not None:
            self.close_writer(commit=True)

    def _finish_phase(self) -> None:
        if self.state is State.MERGING:
            self.build.plan_merge()
        phase = {State.BACKFILLING: LOAD, State.MERGING: INDEX}.get(self.state)
        while phase and self.state not in ENDED and self.build.unfinished(phase):
            self.work(last=False, rows=100)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            for name in ("open", "session", "build"):
                if (session := getattr(self, name, None)) is not None:
                    session.close()

    def _entries(self) -> list[tuple[int, Value]]:
        return _rows_of(self.session, "t__by_v")

    def _check_table(self) -> None:
        assert _rows_of(self.session, "t") == sorted(self.rows.items(), key=str)


_PATIENCE = 0.1
_CLEANING = (
    "SET client_min_messages = error",
    "DROP TABLE IF EXISTS t, t__by_v, t__by_v__recorded, t__by_v__suspects CASCADE",
    "DROP FUNCTION IF EXISTS t__by_v__keep, t__by_v__truncate",
    "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
)


def _rows_of(session: psycopg.Connection[Any], relation: str) -> list[tuple[int, Value]]:
    found = session.execute(f"SELECT k, v::int FROM {relation}").fetchall()
    return sorted(found, key=str)


def _statement(changes: Sequence[Change]) -> str:
    """The changes in one statement."""
    old, new = changes[0]
    if len(changes) > 1:
        values = " ".join(f"WHEN {c.new.k} THEN {_text(c.new.v)}" for c in changes if c.new)
        keys = ", ".join(str(c.old.k) for c in changes if c.old)
        return f"UPDATE t SET v = CASE k {values} END WHERE k IN ({keys})"
    if old is None:
        assert new is not None
        return f"INSERT INTO t VALUES ({new.k}, {_text(new.v)})"
    if new is None:
        return f"DELETE FROM t WHERE k = {old.k}"
    return f"UPDATE t SET k = {new.k}, v = {_text(new.v)} WHERE k = {old.k}"


def _text(v: Value) -> str:
    return "NULL" if v is None else f"'{v}'"


def _run(machine: type[Interleavings], examples: int, steps: int, **others: Any) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=_ASKED is None,
            suppress_health_check=list(HealthCheck),
            **others,
        ),
    )


def test_interleavings_on_the_model() -> None:
    _run(OnModel, ON_MODEL, steps=30)


def test_interleavings_on_postgres(database: Database) -> None:
    machine = type("InDatabase", (OnPostgres,), {"database": database})
    _run(machine, ON_POSTGRES, steps=40, phases=[Phase.generate])


def _with(method: Method, state: State, duties: Duties) -> tuple[Method, Rules]:
    """A method, and rules by which it has other duties in a state."""
    return method, Rules(duties={**DUTIES, method: {**DUTIES[method], state: duties}})


_NO_PUTS = Duties(Duty.TOMBSTONE)
_BROKEN: Mapping[str, tuple[Method, Rules]] = {
    "writers of an earlier state are not waited for": (
        Method.INIT_PUT,
        Rules(waits_for_writers=False),
    ),
    "writers of an earlier state are not waited for before a merge": (
        Method.MERGE,
        Rules(waits_for_writers=False),
    ),
    "the fast path takes tombstones for nothing": (
        Method.INIT_PUT,
        Rules(fast_path_fails_on_tombstones=False),
    ),
    "the slow path puts what was read before": (
        Method.INIT_PUT,
        Rules(slow_path_reads_again=False),
    ),
    "the position follows a row that moves": (
        Method.INIT_PUT,
        Rules(position_stays_with_listed_rows=False),
    ),
    "deletes take away another row's entry": (
        Method.INIT_PUT,
        Rules(deletes_are_conditional_on_owner=False),
    ),
    "deletes take away another row's record": (
        Method.MERGE,
        Rules(deletes_are_conditional_on_owner=False),
    ),
    "displaced owners are forgotten": (
        Method.INIT_PUT,
        Rules(displaced_owners_are_recorded=False),
    ),
    "displaced owners are forgotten in a merge": (
        Method.MERGE,
        Rules(displaced_owners_are_recorded=False),
    ),
    "a merge forgets whom it overwrites": (
        Method.MERGE,
        Rules(merge_suspects_whom_it_overwrites=False),
    ),
    "records are copied as they were when listed": (
        Method.MERGE,
        Rules(records_are_locked_first=False),
    ),
    "what a late writer puts back is deleted by an earlier record": (
        Method.MERGE,
        Rules(late_puts_remove_recorded_deletes=False),
    ),
    "TRUNCATE is not followed": (Method.INIT_PUT, Rules(truncate_is_followed=False)),
    "TRUNCATE is not followed in a merge": (Method.MERGE, Rules(truncate_is_followed=False)),
    "nobody looks again at publication": (Method.INIT_PUT, Rules(publication_looks_again=False)),
    "nothing is deleted in delete_only": _with(
        Method.INIT_PUT, State.DELETE_ONLY, Duties(Duty.NOTHING)
    ),
    "nothing is put while the table is loaded": _with(Method.INIT_PUT, State.BACKFILLING, _NO_PUTS),
    "no tombstones while the table is loaded": _with(
        Method.INIT_PUT, State.BACKFILLING, Duties(Duty.PUT_AND_DELETE)
    ),
    "nothing is put while the index is validated": _with(
        Method.INIT_PUT, State.VALIDATING, Duties(Duty.DELETE)
    ),
    "the temporary index records deletes in delete_only": _with(
        Method.MERGE, State.DELETE_ONLY, Duties(Duty.NOTHING, Duty.TOMBSTONE)
    ),
    "the temporary index does not preserve deletes": _with(
        Method.MERGE, State.BACKFILLING, Duties(Duty.NOTHING, Duty.PUT_AND_DELETE)
    ),
    "nothing is recorded while the table is loaded": _with(
        Method.MERGE, State.BACKFILLING, Duties(Duty.NOTHING, Duty.NOTHING)
    ),
    "what is recorded after the start of the merge is not put as well": _with(
        Method.MERGE, State.MERGING, Duties(Duty.TOMBSTONE, Duty.RECORD)
    ),
    "what is put during the merge is not recorded as well": _with(
        Method.MERGE, State.MERGING, Duties(Duty.PUT_AND_TOMBSTONE)
    ),
}


@pytest.mark.parametrize("broken", _BROKEN)
def test_interleavings_find_every_broken_rule(broken: str) -> None:
    """By many short walks: what is looked for is sometimes rare, and nothing has to be shrunk."""
    method, rules = _BROKEN[broken]
    machine = type("Broken", (OnModel,), {"followed": rules})
    with pytest.raises(AssertionError):
        _walk(machine, method, walks=30_000)


def test_walks_find_nothing_where_no_rule_is_broken() -> None:
    for method in Method:
        _walk(OnModel, method, walks=2_000 if _ASKED is None else 10 * ON_MODEL)


def _walk(machine: type[OnModel], method: Method, walks: int) -> None:
    """As hypothesis does it, without its bookkeeping; the same walks each time."""
    random = Random(0 if _ASKED is None else None)
    for _ in range(walks):
        made = machine()
        rows = random.choices(list(product(_KEYS, _VALUES)), k=6)
        made.begin(method, random.random() < 0.7, random.random() < 0.6, rows)
        for _ in range(50):
            made.take(random)
        made.teardown()
