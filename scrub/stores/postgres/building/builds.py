# SPDX-License-Identifier: Apache-2.0
"""What the database remembers of builds: their state, their ranges, how far each has come.

Everything is written in the transaction that makes it true, so that whoever comes after a crash
finds it so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import pairwise
from typing import Any

from scrub.model.build import Method, State
from scrub.stores.building import LOAD
from scrub.stores.postgres.connections import Connection, only_row
from scrub.stores.postgres.own_relations import are_there, demand_own
from scrub.stores.postgres.quoting import literal, qualified

_BUILDS, _RANGES = "scrub_builds", "scrub_build_ranges"
_SUMMED = ("rows", "fast", "slow", "retried", "conflicts")
_TOTAL = -1  # the number of the range that stands for all of a load


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build, of one or more indexes of a table: a row of its relation."""

    id: int
    table_name: str
    indexes: tuple[str, ...]
    method: Method
    state: State
    runner: str | None  # changes with each process that runs it
    rows_expected: int
    rows_per_second: int | None
    paused: bool
    failure: str | None
    started: datetime
    changed: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A stretch of the table's primary key, or of a temporary index's numbers: a row, too."""

    phase: str  # "load", or the index whose records are merged
    number: int
    lower_key: tuple[str, ...] | None  # after this key; None: from the first
    upper_key: tuple[str, ...] | None  # up to this key; None: to the last
    position: tuple[str, ...] | None  # everything up to here is done
    done: bool
    rows: int
    entries: int
    fast: int  # chunks put in one go
    slow: int  # chunks that had to be read again under lock
    retried: int  # chunks that gave way to writers
    conflicts: int


_BUILD_COLUMNS = tuple(field.name for field in fields(Build))
_RANGE_COLUMNS = tuple(field.name for field in fields(Range))


class Builds:
    """The builds of one schema."""

    def __init__(self, schema: str) -> None:
        self.builds = qualified(schema, _BUILDS)
        self.ranges = qualified(schema, _RANGES)
        self._schema = schema

    def create(self, connection: Connection) -> None:
        """Make the relations, unless they are there; one transaction at a time may do so."""
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.builds,))
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.builds} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                table_name text NOT NULL, indexes text[] NOT NULL, method text NOT NULL,
                state text NOT NULL, runner text, rows_expected bigint NOT NULL,
                rows_per_second integer, paused boolean NOT NULL DEFAULT false, failure text,
                started timestamptz NOT NULL DEFAULT clock_timestamp(),
                changed timestamptz NOT NULL DEFAULT clock_timestamp())"""
        )
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.ranges} (
                build bigint NOT NULL REFERENCES {self.builds} ON DELETE CASCADE,
                phase text NOT NULL, number integer NOT NULL,
                lower_key text[], upper_key text[], position text[],
                done boolean NOT NULL DEFAULT false,
                rows bigint NOT NULL DEFAULT 0, entries bigint NOT NULL DEFAULT 0,
                fast bigint NOT NULL DEFAULT 0, slow bigint NOT NULL DEFAULT 0,
                retried bigint NOT NULL DEFAULT 0, conflicts bigint NOT NULL DEFAULT 0,
                PRIMARY KEY (build, phase, number))"""
        )
        demand_own(connection, self.builds, self.ranges)

    def are_there(self, connection: Connection) -> bool:
        """Refuses those of a stranger: to read his view is to run what is in it."""
        return are_there(connection, self.builds, self.ranges)

    def add(
        self,
        connection: Connection,
        table: str,
        indexes: Sequence[str],
        method: Method,
        rows_expected: int,
        rows_per_second: int | None,
    ) -> int:
        """A build in its first state."""
        (build,) = only_row(
            connection,
            f"INSERT INTO {self.builds} "
            "(table_name, indexes, method, state, rows_expected, rows_per_second) "
            "VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
            (table, list(indexes), method, State.DELETE_ONLY, rows_expected, rows_per_second),
        )
        return int(build)

    def get(self, connection: Connection, build: int) -> Build:
        (found,) = self._select(connection, "WHERE id = %s", (build,))
        return found

    def of_table(self, connection: Connection, table: str) -> list[Build]:
        """The builds of a table, the latest first."""
        if not self.are_there(connection):
            return []
        return self._select(connection, "WHERE table_name = %s ORDER BY id DESC", (table,))

    def change(self, connection: Connection, build: int, **values: object) -> None:
        """Set columns of a build."""
        names = ", ".join(f"{name} = %s" for name in values)
        connection.execute(
            f"UPDATE {self.builds} SET {names}, changed = clock_timestamp() WHERE id = %s",
            (*values.values(), build),
        )

    def publish(self, connection: Connection, build: int) -> None:
        """From now on each index has a life of its own, so each gets a record of its own."""
        connection.execute(
            f"INSERT INTO {self.builds} (table_name, indexes, method, state, rows_expected, "
            "runner, started) "
            "SELECT table_name, ARRAY[name], method, %s, rows_expected, runner, started "
            f"FROM {self.builds}, unnest(indexes[2:]) AS name WHERE id = %s",
            (State.PUBLIC, build),
        )
        connection.execute(
            f"UPDATE {self.builds} SET indexes = indexes[1:1] WHERE id = %s", (build,)
        )
        self.change(connection, build, state=State.PUBLIC)

    def add_ranges(
        self,
        connection: Connection,
        build: int,
        phase: str,
        borders: Sequence[Sequence[str] | None],
    ) -> None:
        """The stretches between borders, the first and the last of which may be open.

        Whoever resumes finds those of the first time: other borders would leave gaps.
        """
        if self.ranges_of(connection, build, phase):
            return
        for number, (lower, upper) in enumerate(pairwise(borders)):
            connection.execute(
                f"INSERT INTO {self.ranges} (build, phase, number, lower_key, upper_key, position) "
                "VALUES (%s, %s, %s, %s, %s, %s)",
                (build, phase, number, _listed(lower), _listed(upper), _listed(lower)),
            )

    def ranges_of(
        self, connection: Connection, build: int, phase: str | None = None
    ) -> list[Range]:
        rows = connection.execute(
            f"SELECT {', '.join(_RANGE_COLUMNS)} FROM {self.ranges} "
            "WHERE build = %s AND (phase = %s OR %s::text IS NULL) ORDER BY phase, number",
            (build, phase, phase),
        )
        return [_range(dict(zip(_RANGE_COLUMNS, row, strict=True))) for row in rows]

    def range(self, connection: Connection, build: int, phase: str, number: int) -> Range:
        found = self.ranges_of(connection, build, phase)
        return next(of for of in found if of.number == number)

    def gave_way(
        self, connection: Connection, build: int, phase: str, number: int, unless: str = "false"
    ) -> None:
        """Count a chunk that others were in the way of; `unless` is another reason, in SQL."""
        connection.execute(
            f"UPDATE {self.ranges} SET retried = retried + 1 "
            f"WHERE build = %s AND phase = %s AND number = %s AND NOT ({unless})",
            (build, phase, number),
        )

    def has_changed(self, build: int, runner: str, rows_per_second: int | None) -> str:
        """A condition: whether workers of this runner, at this pace, should stop and look."""
        pace = "NULL" if rows_per_second is None else str(rows_per_second)
        return (
            f"EXISTS (SELECT FROM {self.builds} WHERE id = {build} "
            f"AND (paused OR rows_per_second IS DISTINCT FROM {pace})) "
            f"OR {self.is_taken_from(build, runner)}"
        )

    def is_taken_from(self, build: int, runner: str) -> str:
        """A condition: whether somebody else runs the build now, or it is being reversed."""
        return (
            f"EXISTS (SELECT FROM {self.builds} WHERE id = {build} AND "
            f"(runner <> {literal(runner)} OR state = {literal(State.REVERSING)}))"
        )

    def remove(self, connection: Connection, build: int) -> None:
        connection.execute(f"DELETE FROM {self.builds} WHERE id = %s", (build,))

    def _select(self, connection: Connection, where: str, values: Sequence[object]) -> list[Build]:
        query = f"SELECT {', '.join(_BUILD_COLUMNS)} FROM {self.builds} {where}"
        return [
            _build(dict(zip(_BUILD_COLUMNS, row, strict=True)))
            for row in connection.execute(query, values)
        ]


def _build(row: Mapping[str, Any]) -> Build:
    return Build(
        **{
            **row,
            "indexes": tuple(row["indexes"]),
            "method": Method(row["method"]),
            "state": State(row["state"]),
        }
    )


def _range(row: Mapping[str, Any]) -> Range:
    keys = {name: row[name] for name in ("lower_key", "upper_key", "position")}
    return Range(
        **{**row, **{name: None if key is None else tuple(key) for name, key in keys.items()}}
    )


def _listed(key: Sequence[str] | None) -> list[str] | None:
    return None if key is None else list(key)


def share_counts(
    connection: Connection, builds: Builds, first: Build, entries: Mapping[str, int]
) -> dict[str, Build]:
    """Give the record of each index its own counts; the first one has those of all until then.

    Rows and chunks are those of the load, which was one for all. Entries are counted by whoever
    checked the indexes: the load adds up those of all indexes.
    """
    found = reversed(builds.of_table(connection, first.table_name))
    records = {of.indexes[0]: of for of in found if of.state is State.PUBLIC}
    sums = ", ".join(f"sum({name})" for name in _SUMMED)
    with connection.transaction():
        for index in entries.keys() & records.keys():  # others were dropped in this moment
            record = records[index].id
            connection.execute(
                f"INSERT INTO {builds.ranges} "
                f"(build, phase, number, done, entries, {', '.join(_SUMMED)}) "
                f"SELECT %s, phase, %s, true, %s, {sums} FROM {builds.ranges} "
                "WHERE build = %s AND phase = %s AND number <> %s GROUP BY phase",
                (record, _TOTAL, entries[index], first.id, LOAD, _TOTAL),
            )
            connection.execute(
                f"UPDATE {builds.ranges} SET build = %s WHERE build = %s AND phase = %s",
                (record, first.id, index),
            )
        connection.execute(
            f"DELETE FROM {builds.ranges} WHERE build = %s AND phase = %s AND number <> %s",
            (first.id, LOAD, _TOTAL),
        )
    return records
