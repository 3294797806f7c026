# SPDX-License-Identifier: Apache-2.0
"""Running a build from whatever state it is in to its end.

The work of each state can be repeated, so a build is resumed after a crash by running it again.
Before any work, the build waits for writers that may still act as in an earlier state: after a
crash, nobody knows whether that was done.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from repair.pacing import ChunkSize, ChunkTime
from repair.publishing import demand_none, publish_if_clean
from repair.working_off import Stuck, WorkSettings, patiently
from scrub.model.build import State, next_state
from scrub.stores.building import LOAD, Clash, IndexBuild, Refused, Step

T = TypeVar("T")

WorkOff = Callable[[str], Sequence[Clash]]
"""Has workers do the ranges of a phase; returns rows that clash."""

_POLL_SECONDS = 0.05
_RANGES_PER_WORKER = 8
_BATCH = 1_000
_NAMED_MAX = 5
_ENDED = (State.PUBLIC, State.REVERSED)


@dataclass(slots=True)
class Builder:
    """Takes a build through its states."""

    build: IndexBuild
    work_off: WorkOff
    gate: Callable[[], Mapping[str, int]]  # checks the new indexes; raises Refused or Unchecked
    settings: WorkSettings
    tell: Callable[[str], None]  # what is being done now, for people
    sleep: Callable[[float], None] = time.sleep

    def run(self) -> State:
        """Run until the indexes are public, or everything that was made is removed."""
        while (state := self._patiently(lambda: self.build.state)) not in _ENDED:
            self._wait_for_writers()
            if state is State.REVERSING:
                self.tell("removing what was made")
                self._patiently(self.build.reverse)
                continue
            try:
                self._work_in(state)
            except Refused as error:
                self._patiently(partial(self.build.advance, State.REVERSING, str(error)))
        return state

    def _work_in(self, state: State) -> None:
        match state:
            case State.WRITE_AND_DELETE:
                self._patiently(
                    lambda: self.build.plan_load(self.settings.workers * _RANGES_PER_WORKER)
                )
            case State.BACKFILLING:
                self.tell("loading entries")
                demand_none(self.work_off(LOAD))
            case State.MERGING:
                self._patiently(self.build.plan_merge)
                for index in self.build.indexes:
                    self.tell(f"merging what writers recorded for {index}")
                    demand_none(self.work_off(index))
            case State.VALIDATING:
                self._validate()
                return
            case _:
                pass  # writers have been waited for, and there is nothing else to do
        following = next_state(self.build.method, state)
        self._patiently(lambda: self.build.advance(following))

    def _validate(self) -> None:
        self.tell("looking again at rows that may clash")
        self._until_done(self.build.clear_step)
        self._until_done(self.build.verify_step)
        self.tell("checking the index against the table")
        publish_if_clean(self.gate, self._publish)

    def _publish(self) -> Sequence[Clash]:
        def attempt() -> Sequence[Clash]:
            # Rows that came up since the last attempt: little may be left to do in this one.
            self._until_done(self.build.verify_step)
            return self.build.publish()

        self.tell("publishing")
        return self._patiently(attempt)

    def _until_done(self, step: Callable[[int], Step]) -> None:
        size = ChunkSize(ChunkTime(self.settings.chunk_seconds).seconds(), _BATCH)
        while True:
            began = time.monotonic()
            done = self._patiently(lambda: step(size.rows), size)
            size.took(done.rows, time.monotonic() - began)
            demand_none(done.clashes)
            if done.finished:
                return

    def _wait_for_writers(self) -> None:
        """For those who write now: whoever begins later acts as the present state demands."""
        waiting = {blocker.identity for blocker in self._patiently(self.build.blockers)}
        deadline = time.monotonic() + self.settings.wait_limit
        told = False
        while waiting:
            left = [b for b in self._patiently(self.build.blockers) if b.identity in waiting]
            waiting = {blocker.identity for blocker in left}
            names = "; ".join(blocker.description for blocker in left[:_NAMED_MAX])
            if waiting and time.monotonic() > deadline:
                raise Stuck(
                    f"after {self.settings.wait_limit:g} seconds, the build still waits for "
                    f"transactions that began to write before it got here: {names}",
                    hint="end them, or give --wait-limit more seconds",
                )
            if waiting:
                if not told:
                    self.tell(f"waiting for writers: {names}")
                    told = True
                self.sleep(_POLL_SECONDS)

    def _patiently(self, step: Callable[[], T], size: ChunkSize | None = None) -> T:
        return patiently(step, self.settings.wait_limit, self.build, size, self.sleep)
