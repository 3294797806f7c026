# SPDX-License-Identifier: Apache-2.0
"""Copying what writers recorded during the load into the new index, deletions included.

A batch locks its records before it touches the index, as writers do. So a record cannot be replaced
by a newer one between being read and being copied, and an older value never overwrites a newer one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from scrub.errors import StoreUnavailable
from scrub.model.entry_shape import MARK
from scrub.stores.building import Step
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.building.builds import Range
from scrub.stores.postgres.building.place import OpenBuild
from scrub.stores.postgres.building.relations_made import NUMBER
from scrub.stores.postgres.connections import only_row
from scrub.stores.postgres.entry_parts import Arbiter
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier

_MARK, _NUMBER = identifier(MARK), identifier(NUMBER)


@dataclass(frozen=True, slots=True)
class Merging:
    """Copies the records of a build, batch by batch."""

    own: OpenBuild

    def plan(self) -> None:
        """Record which records are to be merged: those there now."""
        own, connection = self.own, self.own.session.connection
        for entry in own.place.entries:
            (last,) = only_row(connection, last_number(entry))
            borders = [["0"], [str(last)]]
            own.builds.add_ranges(connection, own.place.build, entry.index, borders)

    def step(self, index: str, number: int, rows: int) -> Step:
        """Lock records, then copy them; as many are there as were listed a moment ago."""
        own = self.own
        entry = next(entry for entry in own.place.entries if entry.index == index)
        of = own.range(index, number)
        assert of.position is not None, "a merge begins before the first record"
        assert of.upper_key is not None, "a merge ends with the last record at its start"
        after, up_to = int(of.position[0]), int(of.upper_key[0])
        watched = own.session.watched(partial(own.gave_way, index, number))
        with watched, own.session.briefly(durable=False) as brief:
            numbers = brief.execute(listing(entry, after, up_to, rows)).fetchone()[0] or []
            if numbers:
                locked = brief.execute(locking(entry, numbers)).fetchall()
                if len(locked) != len(numbers):
                    raise StoreUnavailable(
                        f"index {index}: records of the temporary index are missing, so "
                        "changes of writers may be lost",
                        hint="cancel the build and run it again",
                    )
                _copy(brief, entry, numbers)
            finished = len(numbers) < rows
            self._merged(brief, of, numbers, finished)
            record = own.record()
        own.demand_runner(record)
        return Step(
            rows=len(numbers),
            entries=len(numbers),
            finished=finished,
            rows_per_second=record.rows_per_second,
            paused=record.paused,
        )

    def _merged(self, brief: Brief, of: Range, numbers: Sequence[int], finished: bool) -> None:
        position = [str(max(numbers))] if numbers else list(of.position or ())
        count, build = len(numbers), self.own.place.build
        brief.execute(
            f"UPDATE {self.own.builds.ranges} SET position = %s, done = %s, rows = rows + %s, "
            "entries = entries + %s, fast = fast + 1 "
            "WHERE build = %s AND phase = %s AND number = %s",
            (position, finished, count, count, build, of.phase, of.number),
        )


def _copy(brief: Brief, entry: EntrySql, numbers: Sequence[int]) -> None:
    for arbiter in entry.arbiters:
        if arbiter.owners_may_differ:
            brief.execute(suspecting(entry, arbiter, numbers))
    for arbiter in entry.arbiters:
        brief.execute(copying(entry, arbiter, numbers))


def last_number(entry: EntrySql) -> str:
    """The highest number that a record may have got so far, committed or not."""
    sequence = f"pg_get_serial_sequence('{entry.temporary.replace(chr(39), chr(39) * 2)}'"
    return f"""
        SELECT coalesce(pg_sequence_last_value({sequence}, '{NUMBER}')::regclass), 0)
    """


def listing(entry: EntrySql, after: int, up_to: int, records: int) -> str:
    """The next records to merge, by number."""
    return f"""
        SELECT array_agg({_NUMBER}) FROM (
            SELECT {_NUMBER} FROM {entry.temporary}
            WHERE {_NUMBER} > {after} AND {_NUMBER} <= {up_to}
            ORDER BY {_NUMBER} LIMIT {records}) AS listed
    """


def locking(entry: EntrySql, numbers: Sequence[int]) -> str:
    """Lock the records; as many must come back as were listed."""
    return f"SELECT {_NUMBER} FROM {entry.temporary} WHERE {_chosen(numbers)} FOR UPDATE"


def suspecting(entry: EntrySql, arbiter: Arbiter, numbers: Sequence[int]) -> str:
    """Owners of entries that the records are about to overwrite: they are looked at again."""
    on = " AND ".join(part.equal("t", "e") for part in arbiter.parts)
    owner = ", ".join(f"t.{name}" for name in entry.owner)
    return f"""
        INSERT INTO {entry.suspects}
        SELECT {owner} FROM {entry.relation} AS t JOIN {entry.temporary} AS e ON {on}
        WHERE {_chosen(numbers)} AND NOT t.{_MARK} AND NOT ({entry.same_owner("t", "e")})
    """


def copying(entry: EntrySql, arbiter: Arbiter, numbers: Sequence[int]) -> str:
    """Overwrite what the index has with what was recorded; a deletion becomes a tombstone."""
    names = ", ".join([*entry.names, _MARK])
    values = ", ".join(f"{name} = excluded.{name}" for name in (*entry.names, _MARK))
    return f"""
        INSERT INTO {entry.relation} AS t ({names})
        SELECT {names} FROM {entry.temporary}
        WHERE {_chosen(numbers)} AND {arbiter.condition or "true"}
        ORDER BY {", ".join(arbiter.columns)}
        ON CONFLICT {arbiter.target} DO UPDATE SET {values}
    """


def _chosen(numbers: Sequence[int]) -> str:
    return f"{_NUMBER} = ANY('{{{','.join(map(str, numbers))}}}'::bigint[])"
