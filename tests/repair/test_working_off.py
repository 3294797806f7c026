# SPDX-License-Identifier: Apache-2.0
"""What a worker does about writers in its way, a server that went away, pauses and clashes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from repair.building import Builder
from repair.working_off import Stuck, Worker, WorkSettings, patiently
from scrub.model.build import Method, State
from scrub.stores.building import (
    LOAD,
    Blocker,
    Clash,
    Disconnected,
    GaveWay,
    Refused,
    Step,
    Superseded,
    Unchecked,
)

CLASH = Clash(index="by_v", key={"v": "a"}, row={"k": "2"}, owner={"k": "1"})


@dataclass
class FakeBuild:
    """Ranges of rows in memory; what goes wrong is put into `trouble`, one for each step."""

    ranges: dict[int, int] = field(default_factory=lambda: {0: 10})  # number: rows left
    trouble: list[Exception] = field(default_factory=list)
    claimed_by_others: set[int] = field(default_factory=set)
    clash_at: int | None = None
    rows_per_second: int | None = None
    pauses: list[bool] = field(default_factory=list)
    method: Method = Method.INIT_PUT
    state: State = State.DELETE_ONLY
    failure: str | None = None
    waits: list[list[Blocker]] = field(default_factory=list)
    indexes: tuple[str, ...] = ("by_v",)
    done: list[tuple[int, int]] = field(default_factory=list)  # range, rows asked for
    log: list[str] = field(default_factory=list)

    @property
    def paused(self) -> bool:
        return self.pauses.pop(0) if self.pauses else False

    def unfinished(self, _phase: str) -> list[int]:
        return [number for number, left in self.ranges.items() if left]

    def claim(self, _phase: str, number: int) -> bool:
        if number in self.claimed_by_others:
            return False
        self.log.append(f"claim {number}")
        return True

    def release(self, _phase: str, number: int) -> None:
        self.log.append(f"release {number}")

    def load_step(self, number: int, rows: int) -> Step:
        self.done.append((number, rows))
        if self.trouble:
            raise self.trouble.pop(0)
        if number == self.clash_at:
            return Step(rows=0, slow=True, clashes=(CLASH,))
        read = min(rows, self.ranges[number])
        self.ranges[number] -= read
        return Step(
            rows=read,
            finished=not self.ranges[number],
            rows_per_second=self.rows_per_second,
            paused=bool(self.pauses),
        )

    def merge_step(self, index: str, number: int, rows: int) -> Step:
        self.log.append(f"merge {index}")
        return self.load_step(number, rows)

    def close(self) -> None:
        self.log.append("close")

    def advance(self, state: State, failure: str | None = None) -> None:
        if self.trouble:
            raise self.trouble.pop(0)
        self.log.append(f"advance {state}")
        self.state, self.failure = state, failure or self.failure

    def blockers(self) -> list[Blocker]:
        return self.waits.pop(0) if self.waits else []

    def plan_load(self, _ranges: int) -> None:
        self.log.append("plan load")

    def plan_merge(self) -> None:
        self.log.append("plan merge")

    def clear_step(self, _rows: int) -> Step:
        self.log.append("clear")
        return Step(rows=0, finished=True)

    def verify_step(self, _rows: int) -> Step:
        self.log.append("verify")
        return Step(rows=0, finished=True)

    def publish(self) -> tuple[Clash, ...]:
        if self.trouble:
            raise self.trouble.pop(0)
        self.state = State.PUBLIC
        return ()

    def reverse(self) -> None:
        self.log.append("reverse")
        self.state = State.REVERSED


def worker(build: FakeBuild, **settings: float) -> tuple[Worker, list[float]]:
    slept: list[float] = []
    given = WorkSettings(**{"workers": 1, **settings})  # type: ignore[arg-type]
    return Worker(build, given, slept.append), slept


def test_every_range_is_done_and_let_go() -> None:
    build = FakeBuild({0: 10, 1: 2_500, 2: 0})
    working, _ = worker(build)
    assert working.work_off(LOAD) == ()
    assert not any(build.ranges.values())
    assert sorted(build.log) == ["claim 0", "claim 1", "release 0", "release 1"]


def test_a_range_of_another_worker_is_waited_for() -> None:
    build = FakeBuild({0: 10, 1: 10}, claimed_by_others={1})
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        build.ranges[1] = 0  # the other one is done

    assert Worker(build, WorkSettings(1), wait).work_off(LOAD) == ()
    assert len(waits) == 1
    assert {number for number, _ in build.done} == {0}


def test_the_range_of_a_worker_that_died_is_taken_over() -> None:
    build = FakeBuild({0: 10}, claimed_by_others={0})
    given = Worker(build, WorkSettings(1), lambda _: build.claimed_by_others.clear())
    assert given.work_off(LOAD) == ()
    assert build.ranges == {0: 0}


def test_giving_way_tries_less_and_goes_on() -> None:
    build = FakeBuild({0: 3_000}, trouble=[GaveWay("a lock"), GaveWay("a lock")])
    working, slept = worker(build)
    assert working.work_off(LOAD) == ()
    assert [rows for _, rows in build.done][:3] == [1_000, 250, 62]
    assert 0.02 < slept[0] < slept[1] * 3
    assert "close" not in build.log, "the session is as good as before"


def test_waiting_for_writers_is_not_taken_for_slow_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("repair.working_off.time.monotonic", lambda: now[0])
    build = FakeBuild({0: 3_000}, trouble=[GaveWay("a lock")])

    def wait(seconds: float) -> None:
        now[0] += 5.0

    Worker(build, WorkSettings(1), wait).work_off(LOAD)
    assert [rows for _, rows in build.done][:3] == [1_000, 250, 500]


def test_a_server_that_went_away_is_asked_again_in_a_new_session() -> None:
    build = FakeBuild(trouble=[Disconnected("gone"), Disconnected("still gone")])
    working, _ = worker(build)
    assert working.work_off(LOAD) == ()
    assert build.log.count("close") == 2


def test_writers_in_the_way_for_too_long_stop_the_work() -> None:
    build = FakeBuild(trouble=[GaveWay("canceling statement due to lock timeout")])
    working, _ = worker(build, wait_limit=0)
    with pytest.raises(Stuck, match=r"in the way for 0 seconds.*lock timeout") as stopped:
        working.work_off(LOAD)
    assert stopped.value.hint is not None, "whoever knows the table adds how to go on"
    assert stopped.value.exit_code == 3
    assert "release 0" in build.log, "others may have the range"


def test_a_server_that_stays_away_stops_the_work() -> None:
    working, _ = worker(FakeBuild(trouble=[Disconnected("no answer")]), wait_limit=0)
    with pytest.raises(Stuck, match="no answer"):
        working.work_off(LOAD)


def test_a_build_that_another_process_took_over_is_left_at_once() -> None:
    build = FakeBuild(trouble=[Superseded("another")])
    working, slept = worker(build)
    with pytest.raises(Superseded):
        working.work_off(LOAD)
    assert len(build.done) == 1
    assert not slept


def test_clashes_end_the_work() -> None:
    build = FakeBuild({0: 10}, clash_at=0)
    working, _ = worker(build)
    assert working.work_off(LOAD) == (CLASH,)
    assert build.log == ["claim 0", "release 0", "advance reversing"]
    assert build.failure == str(CLASH), "so that the others stop, too"


def test_clashes_are_told_even_if_the_build_cannot_be_stopped_here() -> None:
    build = FakeBuild({0: 10}, clash_at=0)
    working, _ = worker(build, wait_limit=0)

    def away(state: State, failure: str | None = None) -> None:
        raise Disconnected("gone")

    build.advance = away  # type: ignore[method-assign]
    assert working.work_off(LOAD) == (CLASH,)


def test_a_pause_is_waited_out() -> None:
    build = FakeBuild({0: 1_500}, pauses=[True, True, False])
    working, slept = worker(build)
    assert working.work_off(LOAD) == ()
    assert len(slept) == 2


def test_the_pace_bounds_the_first_chunk_too() -> None:
    build = FakeBuild({0: 300}, rows_per_second=100)
    working, slept = worker(build, workers=2)
    working.work_off(LOAD)
    assert {rows for _, rows in build.done} == {12}
    assert sum(slept) == pytest.approx(6.0, abs=0.3)


def test_a_pace_set_while_it_runs_is_kept_from_the_next_chunk() -> None:
    build = FakeBuild({0: 1_100})

    asked = build.load_step

    def step(number: int, rows: int) -> Step:
        build.rows_per_second = 10
        return asked(number, rows)

    build.load_step = step  # type: ignore[method-assign]
    working, slept = worker(build)
    working.work_off(LOAD)
    assert [rows for _, rows in build.done][:2] == [1_000, 2]
    assert max(slept) <= 1.0


def test_merging_asks_for_records_of_its_index() -> None:
    build = FakeBuild({0: 10})
    working, _ = worker(build)
    working.work_off("by_v")
    assert "merge by_v" in build.log


def test_patience_has_an_end_for_any_step() -> None:
    def fail() -> None:
        raise GaveWay("busy")

    with pytest.raises(Stuck):
        patiently(fail, 0, FakeBuild(), sleep=lambda _: None)


def test_pauses_between_tries_become_longer_but_not_for_ever() -> None:
    tries: list[Exception] = [GaveWay("busy") for _ in range(30)]
    slept: list[float] = []

    def step() -> str:
        if tries:
            raise tries.pop()
        return "done"

    assert patiently(step, 60, FakeBuild(), sleep=slept.append) == "done"
    assert slept[0] < 0.1
    assert max(slept) <= 1.5


def builder(
    build: FakeBuild,
    work_off: Callable[[str], tuple[Clash, ...]] = lambda _: (),
    gate: Callable[[], dict[str, int]] = dict,
    wait_limit: float = 60.0,
) -> tuple[Builder, list[str]]:
    told: list[str] = []
    settings = WorkSettings(1, wait_limit=wait_limit)
    return Builder(build, work_off, gate, settings, told.append, lambda _: None), told


def test_a_build_goes_through_its_states() -> None:
    build = FakeBuild()
    running, told = builder(build)
    assert running.run() is State.PUBLIC
    assert [line for line in build.log if line.startswith(("advance", "plan"))] == [
        "advance write_and_delete",
        "plan load",
        "advance backfilling",
        "advance validating",
    ]
    assert told[-1] == "publishing"


def test_merging_goes_through_more_of_them() -> None:
    phases: list[str] = []
    build = FakeBuild(method=Method.MERGE)
    running, _ = builder(build, work_off=lambda phase: phases.append(phase) or ())  # type: ignore[func-returns-value]
    assert running.run() is State.PUBLIC
    assert phases == [LOAD, "by_v"]


@pytest.mark.parametrize("state", [state for state in State if state is not State.REVERSED])
def test_a_build_is_resumed_from_any_state(state: State) -> None:
    build = FakeBuild(method=Method.MERGE, state=state)
    running, _ = builder(build)
    expected = State.REVERSED if state is State.REVERSING else State.PUBLIC
    assert running.run() is expected


def test_clashing_rows_take_everything_back_and_are_named() -> None:
    build = FakeBuild()
    running, _ = builder(build, work_off=lambda _: (CLASH,) * 7)
    assert running.run() is State.REVERSED
    assert build.failure is not None
    assert "rows k=1 and k=2 both have v=a" in build.failure
    assert build.failure.endswith("\nand 2 more")


def refusing() -> dict[str, int]:
    raise Refused("the check found 3 defects")


def test_an_index_that_the_check_finds_defective_is_never_public() -> None:
    build = FakeBuild()
    running, _ = builder(build, gate=refusing)
    assert running.run() is State.REVERSED
    assert build.failure == "the check found 3 defects"


def test_an_index_that_could_not_be_checked_stays_as_it_is() -> None:
    def gate() -> dict[str, int]:
        raise Unchecked("the check could not look at everything")

    build = FakeBuild()
    running, _ = builder(build, gate=gate)
    with pytest.raises(Unchecked):
        running.run()
    assert build.state is State.VALIDATING


def test_taking_back_goes_on_when_the_server_comes_back() -> None:
    build = FakeBuild(state=State.VALIDATING)

    def gate() -> dict[str, int]:
        build.trouble.append(Disconnected("restarted"))  # met by the next change of state
        return refusing()

    running, _ = builder(build, gate=gate)
    assert running.run() is State.REVERSED
    assert build.failure == "the check found 3 defects"


def test_writers_from_before_are_waited_for_and_later_ones_are_not() -> None:
    old, new = (Blocker(identity=name, description=f"session {name}") for name in ("1/2", "3/4"))
    build = FakeBuild(state=State.VALIDATING, waits=[[old], [old, new], [new]])
    running, told = builder(build)
    assert running.run() is State.PUBLIC
    assert told[0] == "waiting for writers: session 1/2"


def test_a_writer_that_never_ends_is_named() -> None:
    blocker = Blocker(identity="1/2", description="session 17 of anna, idle in transaction")
    build = FakeBuild(waits=[[blocker]] * 1_000)
    running, _ = builder(build, wait_limit=0)
    with pytest.raises(Stuck, match="session 17 of anna, idle in transaction") as stopped:
        running.run()
    assert "--wait-limit" in (stopped.value.hint or "")
    assert build.state is State.DELETE_ONLY, "nothing was done"


def test_giving_way_at_the_end_is_repeated() -> None:
    build = FakeBuild(state=State.VALIDATING)
    failing = iter([GaveWay("a lock"), GaveWay("a lock")])
    publish = build.publish

    def sometimes() -> tuple[Clash, ...]:
        if (error := next(failing, None)) is not None:
            raise error
        return publish()

    build.publish = sometimes  # type: ignore[method-assign]
    running, _ = builder(build)
    assert running.run() is State.PUBLIC
    tries = build.log[build.log.index("clear") :].count("verify")
    assert tries == 1 + 3, "rows that came under suspicion meanwhile are looked at before each try"


def test_steps_before_publishing_become_smaller_when_they_give_way() -> None:
    build = FakeBuild(state=State.VALIDATING)
    asked: list[int] = []
    suspects = [120]

    def verify(rows: int) -> Step:
        asked.append(rows)
        if rows > 100:
            raise GaveWay("canceling statement due to statement timeout")
        taken = min(rows, suspects[0])
        suspects[0] -= taken
        return Step(rows=taken, finished=not taken)

    build.verify_step = verify  # type: ignore[method-assign]
    running, _ = builder(build)
    assert running.run() is State.PUBLIC
    assert asked[:3] == [1_000, 250, 62]


def test_a_step_that_took_long_by_itself_has_its_patience_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first giving way begins the wait: before it, nobody was in the way."""
    now = [0.0]
    monkeypatch.setattr("repair.working_off.time.monotonic", lambda: now[0])
    tries: list[Exception] = [GaveWay("busy")]

    def step() -> str:
        now[0] += 100
        if tries:
            raise tries.pop()
        return "done"

    assert patiently(step, 60, FakeBuild(), sleep=lambda _: None) == "done"
