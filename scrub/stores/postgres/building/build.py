# SPDX-License-Identifier: Apache-2.0
"""One build in PostgreSQL: its steps, each a transaction of its own."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from scrub.errors import StoreUnavailable
from scrub.model.build import Method, State, duties_in
from scrub.stores.building import LOAD, Blocker, Clash, GaveWay, Step, Superseded
from scrub.stores.postgres.blocking import blockers_of
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.building import merging, suspects
from scrub.stores.postgres.building.builds import Build, Builds, Range
from scrub.stores.postgres.building.chunks import ChunkSql, clashes, put
from scrub.stores.postgres.building.functions import making, resting
from scrub.stores.postgres.building.loading import Loading, Undone, clashes_told
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.building.relations_made import (
    dropping,
    finishing,
    identifying_late,
    is_identified_late,
)
from scrub.stores.postgres.building.session import BuildSession
from scrub.stores.postgres.building.triggers import dropping_triggers
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.relations import find_relation, leaves_of

EXCLUSIVE_MILLISECONDS = 100
"""How long the builder queues for a lock that writers would have to queue behind."""


_SAMPLED_ROWS = 50_000  # of whole pages, so of some hundred places
_ALL = 1_000_000


class PostgresBuild:
    """The steps of one build, in a session of its own."""

    def __init__(self, place: BuildPlace, puts_plainly: bool = True) -> None:
        self.place = place
        self.builds = Builds(place.schema)
        self.session = BuildSession(place.conninfo)
        self.loading = Loading(place, self.builds, self.session, puts_plainly)

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
            return self.builds.get(self.connection, self.place.build)

    @property
    def state(self) -> State:
        return self.record.state

    @property
    def paused(self) -> bool:
        record = self.record
        self._demand_runner(record)  # else a build that rests could not be taken over
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
            self._demand_runner()
            for statement in self._functions(state):
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
            self._demand_runner()
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

    def _functions(self, state: State) -> Iterator[str]:
        if state is State.REVERSING:
            for names in self.place.made:
                yield from resting(names)
            return
        for entry in self.place.entries:
            yield from making(entry, duties_in(self.method, state))

    def blockers(self) -> list[Blocker]:
        with self.session.watched():
            self._demand_runner()
            table = find_relation(self.connection, self.place.schema, self.place.table_relation)
            leaves = leaves_of(self.connection, table)
            return blockers_of(self.connection, [table.oid, *(leaf.oid for leaf in leaves)])

    def plan_load(self, ranges: int) -> None:
        with self.session.watched(), self.connection.transaction():
            borders = self._borders(ranges)
            self.builds.add_ranges(self.connection, self.place.build, LOAD, [None, *borders, None])

    def _borders(self, ranges: int) -> list[list[str]]:
        """Keys that divide the table about evenly, from a sample of its pages."""
        entry = self.place.entries[0]
        keys = ", ".join(key.name for key in entry.primary_key)
        texts = ", ".join(key.text for key in entry.primary_key)
        expected = self.builds.get(self.connection, self.place.build).rows_expected
        percent = min(100.0, max(0.01, 100.0 * _SAMPLED_ROWS / max(expected, 1)))
        sampled = self.connection.execute(
            f"SELECT ARRAY[{texts}] FROM {entry.table} TABLESAMPLE SYSTEM ({percent}) "
            f"ORDER BY {keys} LIMIT {10 * _SAMPLED_ROWS}"
        ).fetchall()
        size = len(sampled) // ranges
        return [sampled[n * size][0] for n in range(1, ranges)] if size else []

    def plan_merge(self) -> None:
        with self.session.watched(), self.connection.transaction():
            for entry in self.place.entries:
                row = self.connection.execute(merging.last_number(entry)).fetchone()
                assert row is not None, "an aggregate gives a row"
                borders = [["0"], [str(row[0])]]
                self.builds.add_ranges(self.connection, self.place.build, entry.index, borders)

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
        """Lock records, then copy them; as many are there as were listed a moment ago."""
        entry = next(entry for entry in self.place.entries if entry.index == index)
        with self.session.watched():
            of = self.builds.range(self.connection, self.place.build, index, number)
        assert of.position is not None, "a merge begins before the first record"
        assert of.upper_key is not None, "a merge ends with the last record at its start"
        after, up_to = int(of.position[0]), int(of.upper_key[0])

        def count_giving_way() -> None:
            self.builds.gave_way(self.connection, self.place.build, index, number)

        with self.session.watched(count_giving_way), self.session.briefly(durable=False) as brief:
            numbers = brief.execute(merging.listing(entry, after, up_to, rows)).fetchone()[0] or []
            if numbers:
                locked = brief.execute(merging.locking(entry, numbers)).fetchall()
                if len(locked) != len(numbers):
                    raise StoreUnavailable(
                        f"index {index}: records of the temporary index are missing, so "
                        "changes of writers may be lost",
                        hint="cancel the build and run it again",
                    )
                self._copy(brief, entry, numbers)
            finished = len(numbers) < rows
            self._merged(brief, of, numbers, finished)
            record = self.builds.get(self.connection, self.place.build)
        self._demand_runner(record)
        return Step(
            rows=len(numbers),
            entries=len(numbers),
            finished=finished,
            rows_per_second=record.rows_per_second,
            paused=record.paused,
        )

    def _copy(self, brief: Brief, entry: EntrySql, numbers: Sequence[int]) -> None:
        for arbiter in entry.arbiters:
            if arbiter.owners_may_differ:
                brief.execute(merging.suspecting(entry, arbiter, numbers))
        for arbiter in entry.arbiters:
            brief.execute(merging.copying(entry, arbiter, numbers))

    def _merged(self, brief: Brief, of: Range, numbers: Sequence[int], finished: bool) -> None:
        position = [str(max(numbers))] if numbers else list(of.position or ())
        brief.execute(
            f"UPDATE {self.builds.ranges} SET position = %s, done = %s, rows = rows + %s, "
            "entries = entries + %s, fast = fast + 1 "
            "WHERE build = %s AND phase = %s AND number = %s",
            (position, finished, len(numbers), len(numbers), self.place.build, of.phase, of.number),
        )

    def clear_step(self, rows: int) -> Step:
        cleared = 0
        with self.session.watched(), self.session.briefly(durable=False) as brief:
            for entry in self.place.entries:
                cleared += self._clear(brief, entry, rows)
        return Step(rows=cleared, finished=not cleared)

    @staticmethod
    def _clear(brief: Brief, entry: EntrySql, rows: int) -> int:
        """By their index: of a new table the server knows nothing, and would read all of it."""
        brief.execute("SET LOCAL enable_seqscan = off")
        cleared: int = brief.execute(suspects.clearing(entry, rows)).rowcount
        brief.execute("SET LOCAL enable_seqscan TO DEFAULT")
        return cleared

    def verify_step(self, rows: int) -> Step:
        found: list[Clash] = []
        taken = 0
        try:
            with self.session.watched(), self.session.briefly(durable=False) as brief:
                for entry in self.place.entries:
                    if entry.unique:
                        taken += self._verify(brief, entry, rows, found)
                if found:
                    raise Undone
        except Undone:
            pass
        return Step(rows=taken, finished=not taken, clashes=tuple(found))

    def _verify(self, brief: Brief, entry: EntrySql, rows: int, found: list[Clash]) -> int:
        keys = sorted(set(brief.execute(suspects.taking(entry, rows)).fetchall()))
        if not keys:
            return 0
        brief.execute(suspects.locking(entry, keys))
        source = suspects.entries_of(entry, keys)
        for arbiter in entry.arbiters:
            statement = put(entry, arbiter, source, ChunkSql.same_or_tombstone(entry))
            brief.execute(statement)
            found += clashes_told(brief, entry, clashes(entry, arbiter, source))
        return len(keys)

    def publish(self) -> tuple[Clash, ...]:
        """With writers kept out for a moment, so that none is between two states."""
        found: list[Clash] = []
        try:
            with self.session.watched(), self.session.briefly() as brief:
                self._demand_runner()
                self._keep_writers_out(brief, "SHARE ROW EXCLUSIVE")
                for entry in self.place.entries:
                    self._clear(brief, entry, _ALL)
                    if entry.unique and self._verify(brief, entry, _ALL, found) and found:
                        raise Undone
                    for statement in finishing(entry):
                        brief.execute(statement)
                for statement in self._functions(State.PUBLIC):
                    brief.execute(statement)
                self.builds.publish(self.connection, self.place.build)
        except Undone:
            pass
        return tuple(found)

    def reverse(self) -> None:
        """Drop triggers, functions and relations; writers no longer do anything in them."""
        with self.session.watched(), self.session.briefly() as brief:
            table = find_relation(self.connection, self.place.schema, self.place.table_relation)
            leaves = leaves_of(self.connection, table)
            self._keep_writers_out(brief, "ACCESS EXCLUSIVE")
            for names in self.place.made:
                for statement in (*dropping_triggers(names, table, leaves), *dropping(names)):
                    brief.execute(statement)
            self.builds.change(self.connection, self.place.build, state=State.REVERSED)

    def _keep_writers_out(self, brief: Brief, mode: str) -> None:
        brief.execute(f"SET LOCAL lock_timeout = {EXCLUSIVE_MILLISECONDS}")
        table = find_relation(self.connection, self.place.schema, self.place.table_relation)
        brief.execute(f"LOCK TABLE {table.sql} IN {mode} MODE")

    def _demand_runner(self, record: Build | None = None) -> None:
        found = record or self.builds.get(self.connection, self.place.build)
        if found.runner != self.place.runner:
            raise Superseded(f"build {self.place.build} is run by another process")
