# SPDX-License-Identifier: Apache-2.0
"""Loading entries of a build, one chunk a step: plainly, then looking first, then under lock."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from scrub.errors import StoreUnavailable
from scrub.model.build import Method
from scrub.stores.building import LOAD, Clash, Step
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.building.builds import Range
from scrub.stores.postgres.building.chunks import SLOW_ROWS_MAX, ChunkSql
from scrub.stores.postgres.building.place import OpenBuild
from scrub.stores.postgres.connections import require_psycopg
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import bare

_CHUNKS_LOOKING_FIRST = 16


class Undone(Exception):
    """Takes back the transaction in which clashes were found."""


@dataclass(slots=True)
class Loading:
    """Puts the entries of a range's rows."""

    own: OpenBuild
    puts_plainly: bool = True  # while nothing is in the way
    _looking_first: int = field(default=0, init=False)  # so many chunks, before the next plain one
    _pace: int | None = field(default=None, init=False)  # rows a second, as the last chunk saw it

    def step(self, number: int, rows: int) -> Step:
        """The fast path, and the slow one for the same rows if an entry found no place."""
        of = self.range(number)
        if of.done:
            return Step(rows=0, finished=True)  # by a step whose answer did not arrive
        if (step := self._plain_step(of, rows)) is not None:
            return step
        must_move = self.own.place.method is Method.MERGE
        try:
            with self._watched(of), self.own.session.as_others_allow(self._called_off) as brief:
                statement = self._statements(of, rows).fast()
                step, is_whole = self._chunk(brief, statement, rows, must_move=must_move)
        except Undone:
            return Step(rows=0)
        return step if is_whole else self.slow_step(of, min(rows, SLOW_ROWS_MAX))

    def range(self, number: int) -> Range:
        return self.own.range(LOAD, number)

    def _watched(self, of: Range, is_slow: bool = False) -> AbstractContextManager[None]:
        def count() -> None:
            # Only a step without haste can be called off, which is not giving way.
            could_be_called_off = self.own.session.took_its_time and not is_slow
            unless = self._called_off if could_be_called_off else "false"
            self.own.gave_way(LOAD, of.number, unless)

        return self.own.session.watched(count)

    def _plain_step(self, of: Range, rows: int) -> Step | None:
        """Put as if nothing were in the way; None if something was, and for a while after that."""
        if self._looking_first or not self.puts_plainly:
            self._looking_first = max(0, self._looking_first - 1)
            return None
        psycopg = require_psycopg()
        try:
            with self._watched(of), self.own.session.as_others_allow(self._called_off) as brief:
                # The server does not know where a chunk ends, and may think that most is read.
                brief.execute("SET LOCAL enable_seqscan = off")
                statement = self._statements(of, rows).plain()
                return self._chunk(brief, statement, rows, must_move=True)[0]
        except Undone:
            return Step(rows=0)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise
            self._looking_first = _CHUNKS_LOOKING_FIRST
            return None

    def slow_step(self, of: Range, rows: int) -> Step:
        found: list[Clash] = []
        try:
            with self._watched(of, is_slow=True), self.own.session.briefly(durable=False) as brief:
                statements = self._statements(of, rows)
                step, is_whole = self._chunk(brief, statements.slow(), rows, is_slow=True)
                if is_whole:
                    return step
                for number, entry in enumerate(self.own.place.entries):
                    for query in statements.clashes(number):
                        found += clashes_told(brief, entry, query)
                raise Undone
        except Undone:
            return Step(rows=0, slow=True, clashes=tuple(found))

    def _chunk(
        self,
        brief: Brief,
        statement: str,
        rows: int,
        *,
        is_slow: bool = False,
        must_move: bool = False,
    ) -> tuple[Step, bool]:
        """What a chunk's statement did, and whether every entry found its place.

        Where it must move on and somebody else did that already, it is undone.
        """
        row = brief.execute(statement).fetchone()
        scanned, wanted, done, moved, runner, pace, paused, self.own.session.others_write = row
        self._pace = pace
        self.own.demand_is_runner(runner)
        if must_move and not moved:
            raise Undone
        is_whole = bool(moved) and (wanted == done or self.own.place.method is Method.MERGE)
        step = Step(
            rows=scanned,
            entries=done,
            slow=is_slow,
            finished=scanned < rows,
            rows_per_second=pace,
            paused=paused,
            others_write=self.own.session.others_write,
        )
        return step, is_whole

    @property
    def _called_off(self) -> str:
        """Whether the build rests, is another's, or has another pace than a chunk was made for."""
        place = self.own.place
        return self.own.builds.has_changed(place.build, place.runner, self._pace)

    def _statements(self, of: Range, rows: int) -> ChunkSql:
        return ChunkSql(self.own.place, self.own.builds, of, rows)


def clashes_told(brief: Brief, entry: EntrySql, query: str) -> Iterator[Clash]:
    """Rows that have one place, as a query tells them."""
    names = [bare(part.name) for part in entry.indexed]
    keys = [bare(key.name) for key in entry.primary_key]
    for key, row, owner in brief.execute(query).fetchall():
        yield Clash(
            index=entry.index,
            key=dict(zip(names, key, strict=True)),
            row=dict(zip(keys, row, strict=True)),
            owner=dict(zip(keys, owner, strict=True)),
        )
