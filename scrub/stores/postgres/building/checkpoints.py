# SPDX-License-Identifier: Apache-2.0
"""How far a range has come: recorded by the statement that puts the entries of a chunk."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrub.model.build import State
from scrub.stores.building import LOAD
from scrub.stores.postgres.blocking import OTHERS_WRITE
from scrub.stores.postgres.building.builds import Builds, Range
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.column_types import output_text
from scrub.stores.postgres.quoting import literal

Parts = Sequence[tuple[str, str]]
"""What a statement has under WITH: names and texts."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Moves a range on by one chunk. Rows are taken from `counted`, which says what was done."""

    place: BuildPlace
    builds: Builds
    of: Range
    rows: int

    def after(self, parts: Parts, read: str, path: str, complete: str = "true") -> str:
        """A statement of these parts that says what it did, and how the build is now.

        The range moves on to the last key of the part `read`, if the chunk is complete.
        """
        every = (*parts, ("checkpoint", f"({self._moving(read, path, complete)})"))
        return f"""
            WITH {", ".join(f"{name} AS {text}" for name, text in every)}
            SELECT c.rows, c.wanted, c.put, (SELECT count(*) FROM checkpoint),
                   CASE WHEN b.state <> {literal(State.REVERSING)} THEN b.runner END,
                   b.rows_per_second, b.paused, {OTHERS_WRITE}
            FROM counted c, {self.builds.builds} b WHERE b.id = {self.place.build}
        """

    def _moving(self, read: str, path: str, complete: str) -> str:
        place, of = self.place, self.of
        keys = place.entries[0].primary_key
        last = ", ".join(f"k{n} DESC" for n in range(len(keys)))
        names = ", ".join(f"k{n}" for n in range(len(keys)))
        texts = ", ".join(output_text(f"k{n}", key.type) for n, key in enumerate(keys))
        # As text only the one that is wanted: the server would make one of each before it sorts.
        key = (
            f"SELECT ARRAY[{texts}] FROM (SELECT {names} FROM {read} ORDER BY {last} LIMIT 1) AS l"
        )
        return f"""
            UPDATE {self.builds.ranges} AS g
            SET position = coalesce(({key}), g.position),
                done = c.rows < {self.rows}, rows = g.rows + c.rows, entries = g.entries + c.put,
                {path} = g.{path} + 1, conflicts = g.conflicts + c.wanted - c.put
            FROM counted c, {self.builds.builds} b
            WHERE g.build = {place.build} AND g.phase = {literal(LOAD)} AND g.number = {of.number}
              AND b.id = g.build AND b.runner = {literal(place.runner)} AND {complete}
              AND {self._still_there}
            RETURNING 1
        """

    @property
    def _still_there(self) -> str:
        """Nobody else, who took the range for free, has put the same rows meanwhile."""
        position = self.of.position
        if position is None:
            return "NOT g.done AND g.position IS NULL"
        return f"NOT g.done AND g.position = ARRAY[{', '.join(map(literal, position))}]"
