# SPDX-License-Identifier: Apache-2.0
"""Building indexes of tables in PostgreSQL, which triggers keep while and after they are built."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from repair.pacing import ALONE_SECONDS, CHUNK_SECONDS
from scrub.app.building.postgres_runs import PostgresRuns
from scrub.app.building.postgres_status import status_of
from scrub.app.building.table_builder import TableBuilder
from scrub.errors import UsageError
from scrub.model.backfill import (
    CANCELLED,
    DROPPED,
    BackfillPlan,
    BackfillResult,
    BackfillStatus,
)
from scrub.model.build import Method, State
from scrub.model.table import Index
from scrub.stores.base import SessionProvider
from scrub.stores.building import Gate
from scrub.stores.postgres.building.builds import Build
from scrub.stores.postgres.building.opening import PostgresBuilds

_AT_ONCE = 0.1


@dataclass(frozen=True, slots=True)
class PostgresBuilder(TableBuilder):
    """Builds indexes of one table, all of them from one scan."""

    def __post_init__(self) -> None:
        elsewhere = [i.name for i in self.indexes if i.store != self.table.store]
        if elsewhere:
            raise UsageError(
                f"index {elsewhere[0]} is in another store than table {self.table.name}, so it "
                "cannot be kept in the same transaction",
                hint="leave `store:` out of the index",
            )

    @property
    def _runs(self) -> PostgresRuns:
        store = self.catalog.stores[self.table.store].in_time_zone(self.table.time_zone)
        return PostgresRuns(store, self.table, self.request, self.on_progress)

    def plan(self) -> BackfillPlan:
        with self._runs.opened() as builds:
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
                *(["merge concurrent writes"] if is_merge else []),
                "check every entry against the table, and publish only if all is well",
            ),
        )

    @property
    def _method(self) -> Method:
        """A merge, which loads entries faster, unless an index is unique."""
        if self.request.method is not None:
            return self.request.method
        return Method.INIT_PUT if any(index.unique for index in self.indexes) else Method.MERGE

    def run(self, session: SessionProvider, gate: Gate) -> BackfillResult:  # noqa: ARG002 - the server works
        with self._runs.opened() as builds:
            pace, owner = self.request.rows_per_second, self.request.owner
            begin = partial(builds.begin, self.table, self.indexes, self._method, pace, owner)
            build = self._runs.insistently(begin, builds, "create triggers")
            return self._runs.go_on(build, gate)

    def resume(self, session: SessionProvider, gate: Gate) -> BackfillResult:  # noqa: ARG002
        with self._runs.opened() as builds:
            record = self._unfinished(builds)
            build = builds.take_over(self.table, record)
            self._unfinished(builds)
            if self.request.rows_per_second is not None:
                builds.adjust(record, rows_per_second=self.request.rows_per_second or None)
            return self._runs.go_on(build, gate)

    def cancel(self) -> list[BackfillStatus]:
        with self._runs.opened() as builds:
            record = self._unfinished(builds)
            patience = max(self.request.wait_limit, _AT_ONCE)
            build = builds.take_over_to_remove(self.table, record, patience)
            self._unfinished(builds)  # it may have ended before it could be stopped
            return self._runs.remove(build, CANCELLED)

    def drop(self) -> list[BackfillStatus]:
        with self._runs.opened() as builds:
            (index,) = self.indexes
            build = builds.take_over_to_remove(self.table, self._public(builds, index))
            return self._runs.remove(build, DROPPED)

    def to_cancel(self) -> list[BackfillStatus]:
        return self._to_remove(self._unfinished)

    def to_drop(self) -> list[BackfillStatus]:
        (index,) = self.indexes
        return self._to_remove(lambda builds: self._public(builds, index))

    def _to_remove(self, chosen: Callable[[PostgresBuilds], Build]) -> list[BackfillStatus]:
        with self._runs.opened() as builds:
            record = chosen(builds)
            builds.names_of(self.table, record)
            return [status_of(builds, self.table, record)]

    def renew(self) -> list[BackfillStatus]:
        """Make the functions of public indexes again, as the catalog describes them now."""
        with self._runs.opened() as builds:
            records = [self._public(builds, index) for index in self.indexes]
            make = partial(builds.renew, self.table, self.indexes, self.request.owner)
            self._runs.insistently(make, builds, "rename columns")
            return [status_of(builds, self.table, record) for record in records]

    def to_renew(self) -> list[BackfillStatus]:
        with self._runs.opened() as builds:
            records = [self._public(builds, index) for index in self.indexes]
            builds.rehearse_renewal(self.table, self.indexes, self.request.owner)
            return [status_of(builds, self.table, record) for record in records]

    def adjust(self, **values: object) -> BackfillStatus:
        with self._runs.opened() as builds:
            builds.adjust(self._unfinished(builds), **values)
            return status_of(builds, self.table, self._unfinished(builds))

    def status(self) -> list[BackfillStatus]:
        with self._runs.opened() as builds:
            seen: set[str] = set()
            found = []
            for record in builds.of_table(self.table):
                if self._is_asked_for(record) and not set(record.indexes) <= seen:
                    found.append(status_of(builds, self.table, record))
                seen |= set(record.indexes)
            return found

    def _unfinished(self, builds: PostgresBuilds) -> Build:
        record = builds.unfinished(self.table)
        if record is None or not self._is_asked_for(record):
            raise UsageError(
                f"no build of {', '.join(self.request.indexes) or 'any index'} of table "
                f"{self.table.name} is under way",
                hint=self.see_status,
            )
        return record

    def _public(self, builds: PostgresBuilds, index: Index) -> Build:
        for record in builds.of_table(self.table):
            if record.indexes == (index.name,) and record.state is State.PUBLIC:
                return record
        raise UsageError(
            f"index {index.name} of table {self.table.name} was not built by scrub, or is not "
            "public",
            hint=self.see_status,
        )

    def _is_asked_for(self, record: Build) -> bool:
        """By name, or because none was named: the catalog may have lost an index meanwhile."""
        names = set(self.request.indexes)
        return not names or bool(names & set(record.indexes))
