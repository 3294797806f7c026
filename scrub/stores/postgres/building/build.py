# SPDX-License-Identifier: Apache-2.0
"""One build in PostgreSQL: its steps, each a transaction of its own."""

from contextlib import suppress

from scrub.errors import StoreUnavailable
from scrub.model.build import Method, State
from scrub.stores.building import LOAD, Blocker, Clash, GaveWay, Step
from scrub.stores.postgres.blocking import writers_of
from scrub.stores.postgres.building.builds import Build, Builds
from scrub.stores.postgres.building.functions import compiling
from scrub.stores.postgres.building.last_looks import LastLooks
from scrub.stores.postgres.building.loading import Loading, Undone
from scrub.stores.postgres.building.merging import Merging
from scrub.stores.postgres.building.place import BuildPlace, OpenBuild
from scrub.stores.postgres.building.relations_made import (
    dropping,
    identifying_late,
    is_identified_late,
)
from scrub.stores.postgres.building.session import BuildSession
from scrub.stores.postgres.building.triggers import dropping_triggers
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.relations import find_relation, leaves_of

_SAMPLED_ROWS = 50_000  # of whole pages, so of some hundred places


class PostgresBuild:
    """The steps of one build, in a session of its own."""

    def __init__(self, place: BuildPlace, puts_plainly: bool = True) -> None:
        self.place = place
        self.builds = Builds(place.schema)
        self.session = BuildSession(place.conninfo)
        self._own = OpenBuild(place, self.builds, self.session)
        self.loading = Loading(self._own, puts_plainly)
        self._merging = Merging(self._own)
        self._last_looks = LastLooks(self._own)

    @property
    def connection(self) -> Connection:
        return self.session.connection

    def close(self) -> None:
        self.session.close()

    @property
    def method(self) -> Method:
        return self.place.method

    @property
    def record(self) -> Build:
        with self.session.watched():
            return self._own.record()

    @property
    def state(self) -> State:
        return self.record.state

    @property
    def paused(self) -> bool:
        record = self.record
        self._own.demand_runner(record)  # else a build that rests could not be taken over
        return record.paused

    @property
    def rows_per_second(self) -> int | None:
        return self.record.rows_per_second

    @property
    def indexes(self) -> tuple[str, ...]:
        return tuple(of.index for of in self.place.made)

    def advance(self, state: State, failure: str | None = None) -> None:
        """Compile and record in one transaction; functions are replaced without any lock."""
        if state is State.MERGE_DELETE_ONLY:
            self._identify_entries()
        with self.session.watched(), self.connection.transaction():
            self._own.demand_runner()
            for statement in compiling(self.place, state):
                self.connection.execute(statement)
            self.builds.change(self.connection, self.place.build, state=state, failure=failure)
        if state is State.VALIDATING:
            self._count_entries()

    def _count_entries(self) -> None:
        """Of a new table the server knows nothing yet, and would plan the check accordingly."""
        for entry in self.place.entries:
            # Not needed for anything; and who is in the way, autovacuum, does the same.
            with (
                suppress(GaveWay, StoreUnavailable),
                self.session.watched(),
                self.session.unhurriedly() as brief,
            ):
                brief.execute(f"ANALYZE {entry.relation}")

    def _identify_entries(self) -> None:
        """From now on writers must find them. Nobody but us is there yet, or else goes first."""
        with self.session.watched():
            self._own.demand_runner()
            for entry in self.place.entries:
                if not is_identified_late(entry, self.method) or self._is_identified(entry):
                    continue
                taken = self.builds.is_taken_from(self.place.build, self.place.runner)
                with self.session.unhurriedly(queues=True, unless=taken):
                    for statement in identifying_late(entry):
                        self.connection.execute(statement)

    def _is_identified(self, entry: EntrySql) -> bool:
        query = "SELECT 1 FROM pg_index WHERE indrelid = %s::regclass AND indisunique"
        return self.connection.execute(query, (entry.relation,)).fetchone() is not None

    def blockers(self) -> list[Blocker]:
        with self.session.watched():
            self._own.demand_runner()
            return writers_of(self.connection, self.place.schema, self.place.table_relation)

    def plan_load(self, ranges: int) -> None:
        with self.session.watched(), self.connection.transaction():
            borders = self._borders(ranges)
            self.builds.add_ranges(self.connection, self.place.build, LOAD, [None, *borders, None])

    def _borders(self, ranges: int) -> list[list[str]]:
        """Keys that divide the table about evenly, from a sample of its pages."""
        entry = self.place.entries[0]
        keys = ", ".join(key.name for key in entry.primary_key)
        texts = ", ".join(key.text for key in entry.primary_key)
        expected = self._own.record().rows_expected
        percent = min(100.0, max(0.01, 100.0 * _SAMPLED_ROWS / max(expected, 1)))
        sampled = self.connection.execute(
            f"SELECT ARRAY[{texts}] FROM {entry.table} TABLESAMPLE SYSTEM ({percent}) "
            f"ORDER BY {keys} LIMIT {10 * _SAMPLED_ROWS}"
        ).fetchall()
        size = len(sampled) // ranges
        return [sampled[n * size][0] for n in range(1, ranges)] if size else []

    def plan_merge(self) -> None:
        with self.session.watched(), self.connection.transaction():
            self._merging.plan()

    def unfinished(self, phase: str) -> list[int]:
        with self.session.watched():
            found = self.builds.ranges_of(self.connection, self.place.build, phase)
        return [of.number for of in found if not of.done]

    def claim(self, phase: str, number: int) -> bool:
        """Whether the range is ours now; it is let go with the session, however that ends."""
        with self.session.watched():
            row = self.connection.execute(
                f"SELECT pg_try_advisory_lock({self._lock_of(phase, number)})"
            ).fetchone()
        return row is not None and bool(row[0])

    def release(self, phase: str, number: int) -> None:
        with self.session.watched():
            self.connection.execute(f"SELECT pg_advisory_unlock({self._lock_of(phase, number)})")

    def _lock_of(self, phase: str, number: int) -> str:
        name = f"scrub build {self.place.build} {phase} {number}"
        return f"hashtextextended({literal(name)}, 0)"

    def load_step(self, number: int, rows: int) -> Step:
        return self.loading.step(number, rows)

    def merge_step(self, index: str, number: int, rows: int) -> Step:
        return self._merging.step(index, number, rows)

    def clear_step(self, rows: int) -> Step:
        return self._last_looks.clear_step(rows)

    def verify_step(self, rows: int) -> Step:
        return self._last_looks.verify_step(rows)

    def publish(self) -> tuple[Clash, ...]:
        """With writers kept out for a moment, so that none is between two states."""
        found: list[Clash] = []
        with suppress(Undone), self.session.watched(), self.session.briefly() as brief:
            self._own.demand_runner()
            table = find_relation(self.connection, self.place.schema, self.place.table_relation)
            brief.keep_writers_out(table.sql)
            self._last_looks.at_everything(brief, found)
            for statement in compiling(self.place, State.PUBLIC):
                brief.execute(statement)
            self.builds.publish(self.connection, self.place.build)
        return tuple(found)

    def reverse(self) -> None:
        """Drop triggers, functions and relations; writers no longer do anything in them."""
        with self.session.watched(), self.session.briefly() as brief:
            table = find_relation(self.connection, self.place.schema, self.place.table_relation)
            leaves = leaves_of(self.connection, table)
            brief.keep_writers_out(table.sql, "ACCESS EXCLUSIVE")
            for names in self.place.made:
                for statement in (*dropping_triggers(names, table, leaves), *dropping(names)):
                    brief.execute(statement)
            self.builds.change(self.connection, self.place.build, state=State.REVERSED)
