# SPDX-License-Identifier: Apache-2.0
"""Building indexes in PostgreSQL: a build's steps, the workers, and the check before publishing."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from repair.building import Builder
from repair.chunk_tasks import work_off_in_tasks
from repair.pacing import ALONE_SECONDS, CHUNK_SECONDS
from repair.working_off import WorkSettings, patiently
from scrub.app.backfill_watch import WATCH_SECONDS, LoadWatch, rows_a_second
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.backfill import CANCELLED, DROPPED, BackfillPlan, BackfillRequest, BackfillStatus
from scrub.model.build import Method, State
from scrub.model.progress import Progress, ProgressListener
from scrub.model.table import Index, Store, Table
from scrub.stores.building import LOAD, Clash, GaveWay, Superseded
from scrub.stores.postgres.building.beginning import rights_needed
from scrub.stores.postgres.building.build import PostgresBuild
from scrub.stores.postgres.building.builds import Build
from scrub.stores.postgres.building.opening import ENDED, PostgresBuilds
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.connections import first_line, require_psycopg, without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Gate = Callable[[Sequence[str]], "str | None"]
"""Checks indexes of the table; returns what is wrong with them."""

Result = TypeVar("Result")
_AT_ONCE = 0.1
_NAMED = 5


@dataclass(frozen=True, slots=True)
class PostgresBackfill:
    """The indexes of one table, and how to build them."""

    store: Store
    table: Table
    indexes: tuple[Index, ...]
    request: BackfillRequest

    def plan(self) -> BackfillPlan:
        """What `run` would do; nothing is changed."""
        with self._opened() as builds:
            entries = builds.rehearse(self.table, self.indexes, self._method, self.request.owner)
            rows = builds.rows_expected(self.table)
        asked = self.request.chunk_seconds
        seconds = f"{asked or CHUNK_SECONDS:g} s" + (
            "" if asked else f", or {ALONE_SECONDS:g} s while nobody else writes"
        )
        made = [
            f"create {entry.relation} ({', '.join(entry.names)})"
            + (", unique" if entry.unique else "")
            for entry in entries
        ]
        pace, is_merge = self.request.rows_per_second, self._method is Method.MERGE
        kept = "it" if len(entries) == 1 else "them"
        return BackfillPlan(
            table=self.table.name,
            indexes=tuple(index.name for index in self.indexes),
            method=self._method,
            rows=rows,
            steps=(
                *made,
                f"create triggers on {entries[0].table} that "
                + ("record what is written" if is_merge else f"keep {kept} from then on"),
                f"load the rows in transactions of about {seconds}, "
                f"{self.request.parallel} at a time, "
                + (f"at most {pace:,} rows/s" if pace else "as fast as they go"),
                *(["merge what was written meanwhile"] if is_merge else []),
                "check every entry against the table, and publish only if all is well",
            ),
        )

    @property
    def _method(self) -> Method:
        """Entries that name their row are loaded at once by a merge; unique ones by neither."""
        if self.request.method is not None:
            return self.request.method
        return Method.INIT_PUT if any(index.unique for index in self.indexes) else Method.MERGE

    def run(
        self,
        session: "Callable[[], SparkSession]",
        gate: Gate,
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        """Build from the beginning."""
        with self._opened() as builds:
            begin = partial(
                builds.begin,
                self.table,
                self.indexes,
                self._method,
                self.request.rows_per_second,
                self.request.owner,
            )
            build = self._insistently(begin, builds, "create triggers", on_progress)
            return self._go_on(build, session, gate, on_progress)

    def resume(
        self,
        session: "Callable[[], SparkSession]",
        gate: Gate,
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        """Go on where a build was left."""
        with self._opened() as builds:
            record = self._unfinished(builds)
            build = builds.take_over(self.table, record)
            self._unfinished(builds)
            if self.request.rows_per_second is not None:
                builds.adjust(record, rows_per_second=self.request.rows_per_second or None)
            return self._go_on(build, session, gate, on_progress)

    def cancel(self, on_progress: ProgressListener) -> BackfillStatus:
        """Take back a build, also one that another process runs."""
        with self._opened() as builds:
            record = self._unfinished(builds)
            patience = max(self.request.wait_limit, _AT_ONCE)
            build = builds.take_over_to_remove(self.table, record, patience)
            self._unfinished(builds)  # it may have come to its end before it could be stopped
            return self._remove(build, CANCELLED, on_progress)

    def drop(self, on_progress: ProgressListener) -> BackfillStatus:
        """Remove an index that is public, with what keeps it."""
        with self._opened() as builds:
            (index,) = self.indexes
            build = builds.take_over_to_remove(self.table, self._public(builds, index))
            return self._remove(build, DROPPED, on_progress)

    def to_cancel(self) -> list[BackfillStatus]:
        """What `cancel` would take back; refused is what it would refuse."""
        return self._to_remove(self._unfinished)

    def to_drop(self) -> list[BackfillStatus]:
        """What `drop` would remove; refused is what it would refuse."""
        (index,) = self.indexes
        return self._to_remove(lambda builds: self._public(builds, index))

    def _to_remove(self, chosen: Callable[[PostgresBuilds], Build]) -> list[BackfillStatus]:
        with self._opened() as builds:
            record = chosen(builds)
            builds.names_of(self.table, record)
            return [self._status(builds, record)]

    def renew(self, on_progress: ProgressListener) -> list[BackfillStatus]:
        """Make the functions of public indexes anew, as the catalog describes them now."""
        with self._opened() as builds:
            records = [self._public(builds, index) for index in self.indexes]
            make = partial(builds.renew, self.table, self.indexes, self.request.owner)
            self._insistently(make, builds, "rename columns", on_progress)
            return [self._status(builds, record) for record in records]

    def to_renew(self) -> list[BackfillStatus]:
        """The indexes whose functions `renew` would make anew; refused is what it would refuse."""
        with self._opened() as builds:
            records = [self._public(builds, index) for index in self.indexes]
            builds.rehearse_renewal(self.table, self.indexes, self.request.owner)
            return [self._status(builds, record) for record in records]

    def adjust(self, **values: object) -> BackfillStatus:
        """Change the pace of a build that runs, or pause it."""
        with self._opened() as builds:
            builds.adjust(self._unfinished(builds), **values)
            return self._status(builds, self._unfinished(builds))

    def status(self) -> list[BackfillStatus]:
        """The latest build of each index; those asked for, or all."""
        with self._opened() as builds:
            seen: set[str] = set()
            found = []
            for record in builds.of_table(self.table):
                if self._is_asked_for(record) and not set(record.indexes) <= seen:
                    found.append(self._status(builds, record))
                seen |= set(record.indexes)
            return found

    def _unfinished(self, builds: PostgresBuilds) -> Build:
        record = builds.unfinished(self.table)
        if record is None or not self._is_asked_for(record):
            raise UsageError(
                f"no build of {', '.join(self.request.indexes) or 'any index'} of table "
                f"{self.table.name} is under way",
                hint=f"scrub backfill status {self.table.name} shows what there is",
            )
        return record

    def _public(self, builds: PostgresBuilds, index: Index) -> Build:
        for record in builds.of_table(self.table):
            if record.indexes == (index.name,) and record.state is State.PUBLIC:
                return record
        raise UsageError(
            f"index {index.name} of table {self.table.name} was not built by scrub, or is not "
            "public",
            hint=f"scrub backfill status {self.table.name} shows what there is",
        )

    def _is_asked_for(self, record: Build) -> bool:
        """By name, or because none was named: the catalog may have lost an index meanwhile."""
        names = set(self.request.indexes)
        return not names or bool(names & set(record.indexes))

    def _go_on(
        self,
        build: PostgresBuild,
        session: "Callable[[], SparkSession]",
        gate: Gate,
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        place, request = build.place, self.request
        settings = WorkSettings(request.parallel, request.chunk_seconds, request.wait_limit)

        def work_off(phase: str) -> Sequence[Clash]:
            file = request.pause_file
            with LoadWatch(self._opened, self.table, place, phase, file, on_progress).watching():
                return work_off_in_tasks(session(), partial(PostgresBuild, place), settings, phase)

        def tell(what: str) -> None:
            on_progress(Progress(phase=what))

        with self._to_be_resumed(build):
            check = partial(gate, build.indexes)
            Builder(build, work_off, check, settings, tell).run()
        return self._ended(place)

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
                hint=f"scrub backfill status {self.table.name} shows what became of it",
            ) from error
        except StoreUnavailable as error:
            raise StoreUnavailable(str(error), hint=self._resume_hint(error.hint)) from error
        except require_psycopg().errors.InsufficientPrivilege as error:
            hint = self._resume_hint(self._rights_needed)
            raise StoreUnavailable(f"PostgreSQL: {first_line(error)}", hint=hint) from error

    def _resume_hint(self, before: str | None) -> str:
        resume = f"what was done stays done: scrub backfill resume {self.table.name}"
        return f"{before}; {resume}" if before else resume

    @property
    def _rights_needed(self) -> str:
        return rights_needed(self.store.schema or "public", self.table)

    @contextmanager
    def _opened(self) -> Iterator[PostgresBuilds]:
        """The builds of the store; what the server refuses is told as its refusal."""
        psycopg = require_psycopg()
        with closing(PostgresBuilds(self.store)) as builds:
            try:
                yield builds
            except psycopg.errors.InsufficientPrivilege as error:
                # Nothing was begun, and waiting does not help: whoever types it has to.
                raise UsageError(
                    f"PostgreSQL: {first_line(error)}", hint=self._rights_needed
                ) from error
            except psycopg.Error as error:
                reason = without_secrets(first_line(error), builds.conninfo)
                raise StoreUnavailable(f"PostgreSQL: {reason}") from error

    def _insistently(
        self,
        begin: Callable[[], Result],
        builds: PostgresBuilds,
        what: str,
        on_progress: ProgressListener,
    ) -> Result:
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
                on_progress(Progress(phase=f"waiting for a moment in which to {what}"))
                time.sleep(WATCH_SECONDS)

    def _remove(
        self,
        build: PostgresBuild,
        reason: str,
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        settings = WorkSettings(1, wait_limit=self.request.wait_limit)

        def tell(what: str) -> None:
            on_progress(Progress(phase=what))

        with self._to_be_resumed(build):
            patiently(
                lambda: build.advance(State.REVERSING, reason), self.request.wait_limit, build
            )
            Builder(build, _no_work, _no_gate, settings, tell).run()
        return self._ended(build.place)

    def _ended(self, place: BuildPlace) -> BackfillStatus:
        """Asked in a new session: the server may have been restarted meanwhile."""
        with self._opened() as builds:
            status = self._status(builds, builds.builds.get(builds.connection, place.build))
        # Published indexes have a record each; what was counted is that of the first.
        return replace(status, indexes=tuple(of.index for of in place.made))

    def _is_standing(self, record: Build) -> bool:
        """Whether it is public, and the catalog still knows it."""
        known = {index.name for index in self.table.indexes}
        return record.state is State.PUBLIC and set(record.indexes) <= known

    def _status(self, builds: PostgresBuilds, record: Build) -> BackfillStatus:
        runner = builds.holder(self.table) if record.state not in ENDED else None
        is_loading = runner and record.state is State.BACKFILLING and not record.paused
        rate = rows_a_second(builds, record) if is_loading else None
        ranges = builds.ranges(record)
        load = [of for of in ranges if of.phase == LOAD]
        waiting: tuple[str, ...] = ()
        if record.state not in (*ENDED, State.BACKFILLING, State.MERGING):
            waiting = tuple(b.description for b in builds.writers(self.table))
        standing = builds.standing(self.table, record) if self._is_standing(record) else []
        return BackfillStatus(
            table=self.table.name,
            indexes=record.indexes,
            state=record.state,
            method=record.method,
            rows=sum(of.rows for of in load),
            rows_expected=record.rows_expected,
            entries=sum(of.entries for of in load),
            rows_a_second=rate,
            fast_chunks=sum(of.fast for of in load),
            slow_chunks=sum(of.slow for of in load),
            gave_way=sum(of.retried for of in ranges),
            conflicts=sum(of.conflicts for of in ranges),
            merged=sum(of.rows for of in ranges if of.phase != LOAD),
            rows_per_second=record.rows_per_second,
            paused=record.paused,
            runner=runner,
            failure=record.failure,
            started=record.started,
            changed=record.changed,
            waiting_for=waiting,
            to_renew=tuple(line for of in standing for line in of.to_renew),
            to_check=tuple(line for of in standing for line in of.to_check),
        )


def _no_work(phase: str) -> Sequence[Clash]:
    raise AssertionError(f"nothing of {phase} is done while a build is taken back")


def _no_gate() -> str | None:
    raise AssertionError("what is taken back is not checked")
