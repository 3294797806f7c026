# SPDX-License-Identifier: Apache-2.0
"""Workers in threads: what they return together, what stops them, and who hears of it."""

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from repair import workers
from repair.workers import work_off_in_threads
from repair.working_off import Stuck, WorkSettings
from scrub.stores.building import LOAD, Clash, Step, Superseded
from tests.repair.test_working_off import CLASH, FakeBuild


@dataclass
class Builds:
    """Gives each worker a build of its own, in the order in which they ask."""

    each: list[FakeBuild]
    opened: int = 0

    def __call__(self) -> Any:
        self.opened += 1
        return self.each[self.opened - 1]


def work_off(*each: FakeBuild) -> tuple[Clash, ...]:
    settings = WorkSettings(len(each), wait_limit=0)
    found = tuple(work_off_in_threads(Builds(list(each)), settings, LOAD))
    assert all(build.log[-1] == "close" for build in each)
    return found


def test_all_of_them_work() -> None:
    builds = [FakeBuild(), FakeBuild()]
    assert work_off(*builds) == ()
    assert not any(rows for build in builds for rows in build.ranges.values())


@pytest.mark.parametrize("other", [Superseded("another process"), Stuck("no end")])
def test_clashes_are_why_the_others_were_stopped(other: Exception) -> None:
    assert work_off(FakeBuild(trouble=[other]), FakeBuild(clash_at=0)) == (CLASH,)


def test_a_mistake_of_ours_is_raised_whatever_was_found() -> None:
    with pytest.raises(ZeroDivisionError):
        work_off(FakeBuild(trouble=[ZeroDivisionError()]), FakeBuild(clash_at=0))


@pytest.mark.parametrize("error", [Superseded("another process"), Stuck("no end")])
def test_what_stops_one_is_raised_when_the_others_have_done_their_part(error: Exception) -> None:
    other = FakeBuild()
    with pytest.raises(type(error), match=str(error)):
        work_off(FakeBuild(trouble=[error]), other)
    assert not any(other.ranges.values())


def test_whoever_is_interrupted_waits_for_steps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is under way ends; the rest of the range, and other ranges, are left."""
    stepping, interrupted = threading.Event(), threading.Event()

    class Endless(FakeBuild):
        def load_step(self, number: int, rows: int) -> Step:
            self.done.append((number, rows))
            stepping.set()
            assert interrupted.wait(30)
            return Step(rows=1)

    def interrupt(_: object) -> None:
        assert stepping.wait(30)
        threading.Timer(0.2, interrupted.set).start()
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "wait", interrupt)
    build = Endless(dict.fromkeys(range(5), 10))
    with pytest.raises(KeyboardInterrupt):
        work_off_in_threads(Builds([build]), WorkSettings(1), LOAD)
    assert len(build.done) == 1
    assert build.log[-1] == "close"
    assert build.log[-2].startswith("release")
