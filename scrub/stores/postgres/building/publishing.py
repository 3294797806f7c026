# SPDX-License-Identifier: Apache-2.0
"""The end of a build: tombstones are cleared, suspects looked at again, and indexes published."""

from contextlib import suppress
from dataclasses import dataclass

from scrub.model.build import State
from scrub.stores.building import Clash, Step
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.building import suspects
from scrub.stores.postgres.building.functions import compiling
from scrub.stores.postgres.building.loading import Undone, clashes_told
from scrub.stores.postgres.building.place import OpenBuild
from scrub.stores.postgres.building.puts import clashes, put, same_or_tombstone
from scrub.stores.postgres.building.relations_made import finishing
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.relations import find_relation

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Publishing:
    """Brings the indexes of a build to their end, as far as no rows clash."""

    own: OpenBuild

    def clear_step(self, rows: int) -> Step:
        own, cleared = self.own, 0
        with own.session.watched(), own.session.briefly(durable=False) as brief:
            for entry in own.place.entries:
                cleared += _clear(brief, entry, rows)
        return Step(rows=cleared, finished=not cleared)

    def verify_step(self, rows: int) -> Step:
        own, taken = self.own, 0
        found: list[Clash] = []
        with suppress(Undone), own.session.watched(), own.session.briefly(durable=False) as brief:
            for entry in own.place.entries:
                if entry.unique:
                    taken += _verify(brief, entry, rows, found)
            if found:
                raise Undone
        return Step(rows=taken, finished=not taken, clashes=tuple(found))

    def publish(self) -> tuple[Clash, ...]:
        """With writers kept out for a moment, so that none is between two states."""
        own = self.own
        found: list[Clash] = []
        with suppress(Undone), own.session.watched(), own.session.briefly() as brief:
            own.demand_runner()
            table = find_relation(brief.connection, own.place.schema, own.place.table_relation)
            brief.keep_writers_out(table.sql)
            for entry in own.place.entries:
                _clear(brief, entry, _ALL)
                if entry.unique and _verify(brief, entry, _ALL, found) and found:
                    raise Undone
                for statement in finishing(entry):
                    brief.execute(statement)
            for statement in compiling(own.place, State.PUBLIC):
                brief.execute(statement)
            own.builds.publish(brief.connection, own.place.build)
        return tuple(found)


def _clear(brief: Brief, entry: EntrySql, rows: int) -> int:
    """By their index: of a new table the server knows nothing, and would read all of it."""
    brief.execute("SET LOCAL enable_seqscan = off")
    cleared: int = brief.execute(suspects.clearing(entry, rows)).rowcount
    brief.execute("SET LOCAL enable_seqscan TO DEFAULT")
    return cleared


def _verify(brief: Brief, entry: EntrySql, rows: int, found: list[Clash]) -> int:
    keys = sorted(set(brief.execute(suspects.taking(entry, rows)).fetchall()))
    if not keys:
        return 0
    brief.execute(suspects.locking(entry, keys))
    source = suspects.entries_of(entry, keys)
    for arbiter in entry.arbiters:
        brief.execute(put(entry, arbiter, source, same_or_tombstone(entry)))
        found += clashes_told(brief, entry, clashes(entry, arbiter, source))
    return len(keys)
