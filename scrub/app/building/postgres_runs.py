# SPDX-License-Identifier: Apache-2.0
"""Running builds in PostgreSQL to their end: with workers, a watch, and patience with writers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from repair.building import Builder
from repair.workers import work_off_in_threads
from repair.working_off import WorkSettings, patiently
from scrub.app.building.postgres_status import status_of
from scrub.app.building.watch import WATCH_SECONDS, LoadWatch
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.backfill import BackfillRequest, BackfillResult, BackfillStatus
from scrub.model.build import State
from scrub.model.command_line import backfill_line
from scrub.model.progress import Progress, ProgressListener
from scrub.model.table import Store, Table
from scrub.stores.building import Clash, Gate, GaveWay, Superseded
from scrub.stores.postgres.building.beginning import rights_needed
from scrub.stores.postgres.building.build import PostgresBuild
from scrub.stores.postgres.building.opening import PostgresBuilds
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.connections import require_psycopg, safe_message, server_message

Result = TypeVar("Result")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class PostgresRuns:
    """The builds of one table."""

    store: Store
    table: Table
    request: BackfillRequest
    on_progress: ProgressListener

    @contextmanager
    def opened(self) -> Iterator[PostgresBuilds]:
        """The builds of the store; errors of the server become errors of ours."""
        psycopg = require_psycopg()
        with closing(PostgresBuilds(self.store)) as builds:
            try:
                yield builds
            except psycopg.errors.InsufficientPrivilege as error:
                # Nothing was begun, and waiting does not help: the user has to act.
                raise UsageError(
                    f"PostgreSQL: {server_message(error)}", hint=self._rights_needed
                ) from error
            except psycopg.Error as error:
                reason = safe_message(error, builds.conninfo)
                raise StoreUnavailable(f"PostgreSQL: {reason}") from error

    @property
    def _rights_needed(self) -> str:
        return rights_needed(self.store.schema or "public", self.table)

    def insistently(self, begin: Callable[[], Result], builds: PostgresBuilds, what: str) -> Result:
        """Begin when writers leave a moment for it; raises StoreUnavailable if they do not."""
        limit = self.request.wait_limit
        deadline = time.monotonic() + limit
        while True:
            try:
                return begin()
            except GaveWay as error:
                if time.monotonic() > deadline:
                    names = "; ".join(b.description for b in builds.writers(self.table)[:_NAMED])
                    raise StoreUnavailable(
                        f"for {limit:g} seconds, transactions on {self.table.name} left no moment "
                        f"in which to {what}: {names or error}",
                        hint="nothing was begun: end them, or give --wait-limit more seconds, and "
                        "run again",
                    ) from error
                self._tell(f"waiting for a moment in which to {what}")
                time.sleep(WATCH_SECONDS)

    def go_on(self, build: PostgresBuild, gate: Gate) -> BackfillResult:
        """Run a build from the state it is in to its end."""
        place, request = build.place, self.request
        settings = WorkSettings(request.parallel, request.chunk_seconds, request.wait_limit)
        entries: dict[str, int] = {}

        def work_off(phase: str) -> Sequence[Clash]:
            file = request.pause_file
            watch = LoadWatch(self.opened, self.table, place, phase, file, self.on_progress)
            with watch.watching():
                return work_off_in_threads(partial(PostgresBuild, place), settings, phase)

        def check() -> Mapping[str, int]:
            entries.update(gate(build.indexes))
            return entries

        with self._to_be_resumed(build):
            Builder(build, work_off, check, settings, self._tell).run()
        return BackfillResult(builds=tuple(self._ended(place, entries)))

    def remove(self, build: PostgresBuild, reason: str) -> list[BackfillStatus]:
        """Take a build back, with everything that it made."""
        limit = self.request.wait_limit
        with self._to_be_resumed(build):
            patiently(lambda: build.advance(State.REVERSING, reason), limit, build)
            settings = WorkSettings(1, wait_limit=limit)
            Builder(build, _no_work, _no_gate, settings, self._tell).run()
        return self._ended(build.place, {})

    def _tell(self, what: str) -> None:
        self.on_progress(Progress(phase=what))

    @contextmanager
    def _to_be_resumed(self, build: PostgresBuild) -> Iterator[None]:
        """Whatever stops a build that has begun, it can go on; unless another took it over."""
        try:
            with closing(build):
                yield
        except Superseded as error:
            raise StoreUnavailable(
                f"another process has taken over the build of {', '.join(build.indexes)}, to "
                "cancel it or to go on with it",
                hint=f"to see what became of it: {backfill_line('status', self.table)}",
            ) from error
        except StoreUnavailable as error:
            raise StoreUnavailable(str(error), hint=self._resume_hint(error.hint)) from error
        except require_psycopg().errors.InsufficientPrivilege as error:
            hint = self._resume_hint(self._rights_needed)
            raise StoreUnavailable(f"PostgreSQL: {server_message(error)}", hint=hint) from error

    def _resume_hint(self, before: str | None) -> str:
        resume = f"what was done stays done: {backfill_line('resume', self.table)}"
        return f"{before}; {resume}" if before else resume

    def _ended(self, place: BuildPlace, entries: Mapping[str, int]) -> list[BackfillStatus]:
        """Read in a new session: the server may have been restarted meanwhile."""
        names = tuple(of.index for of in place.made)
        with self.opened() as builds:
            record = builds.builds.get(builds.connection, place.build)
            if record.state is not State.PUBLIC:
                return [replace(status_of(builds, self.table, record), indexes=names)]
            records = builds.published(record, entries) if len(names) > 1 else {names[0]: record}
            return [status_of(builds, self.table, records[n]) for n in names if n in records]


def _no_work(phase: str) -> Sequence[Clash]:
    raise AssertionError(f"nothing of {phase} is possible while a build is being reversed")


def _no_gate() -> Mapping[str, int]:
    raise AssertionError("a build that is being reversed is not checked")
