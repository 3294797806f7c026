# SPDX-License-Identifier: Apache-2.0
"""Filling an index from the table, chunk by chunk, each in one statement.

The fast path reads rows at the statement's snapshot and puts their entries where nothing ever was,
not even a tombstone, or where the same entry is. Whatever a writer changed since the snapshot has
left an entry or a tombstone, so a put that succeeds is right. Any that fails sends the chunk to the
slow path: the rows are read again under lock, as they are now, and tombstones count as nothing.
What is still in the way then belongs to another row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scrub.model.build import Method, State
from scrub.model.entry_shape import MARK
from scrub.stores.building import LOAD
from scrub.stores.postgres.building.builds import Builds, Range
from scrub.stores.postgres.building.key_ranges import typed, up_to, within
from scrub.stores.postgres.building.relations_made import is_identified_late
from scrub.stores.postgres.column_types import output_text
from scrub.stores.postgres.entry_parts import Arbiter, KeyColumn
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier, literal
from scrub.stores.postgres.writers import OTHERS_WRITE

_MARK = identifier(MARK)
SLOW_ROWS_MAX = 500
"""Rows locked at a time: writers of these wait meanwhile."""


@dataclass(frozen=True, slots=True)
class ChunkSql:
    """The statements that fill the indexes of one build."""

    build: int
    runner: str
    method: Method
    builds: Builds
    entries: tuple[EntrySql, ...]

    @property
    def _keys(self) -> tuple[KeyColumn, ...]:
        return self.entries[0].primary_key

    def plain(self, of: Range, rows: int) -> str:
        """The fast path for when nothing is in the way: fails as a whole if anything is.

        To put without looking first costs less, and is as right: the unique index refuses
        whatever finds an entry or a tombstone.
        """
        if len(self.entries) == 1:
            return self._directly(of, rows)
        scanned = self._scanned(of, rows)
        parts = [("scanned", f"MATERIALIZED ({scanned})")]
        return self._statement(of, rows, parts, None, "fast", "true", ())

    def _directly(self, of: Range, rows: int) -> str:
        """The same for one index: its entries come straight from the table.

        Where the chunk ends is looked up in the index of the primary key, at the same snapshot.
        What several indexes share must be kept until each had it, which costs a quarter more.
        """
        (entry,) = self.entries
        keys = ", ".join(f"r.{key.name} AS k{n}" for n, key in enumerate(self._keys))
        # Without the end of the range: given two bounds, the server may go by the looser one.
        chosen = " AND ".join(
            (within(self._keys, of.position, None), self._up_to_the_last(of), entry.covered)
        )
        order = () if is_identified_late(entry, self.method) else entry.arbiters[0].columns
        source = f"SELECT {entry.values} FROM {entry.table} AS r WHERE {chosen}"
        put, entries_put = _put_plainly(entry, source, order), "rows"
        if entry.conditions:  # else every row has an entry
            put, entries_put = f"{put} RETURNING 1", "(SELECT count(*) FROM put)"
        rest = f"{entry.table} AS r WHERE {within(self._keys, of.position, of.upper_key)}"
        rows_read = f"""
            SELECT CASE WHEN EXISTS (SELECT FROM last) THEN {rows}
                        ELSE (SELECT count(*) FROM {rest}) END AS rows"""
        counted = f"SELECT rows, {entries_put} AS wanted, {entries_put} AS put FROM read"
        parts = (
            ("last", f"MATERIALIZED (SELECT {keys} FROM {self._next(of, 1, rows - 1)})"),
            ("put", f"({put})"),
            ("read", f"MATERIALIZED ({rows_read})"),
            ("counted", f"({counted})"),
            ("checkpoint", f"({self._checkpoint(of, rows, 'last', 'fast', 'true')})"),
        )
        return self._telling(parts)

    def _up_to_the_last(self, of: Range) -> str:
        """Rows of the chunk; if so few are left that it has no last one, all of the range."""
        if of.upper_key is not None:
            ends = typed(self._keys, of.upper_key)
        else:
            order = ", ".join(f"{key.name} DESC" for key in self._keys)
            of_table = f"FROM {self.entries[0].table} ORDER BY {order} LIMIT 1"
            ends = [f"(SELECT {key.name} {of_table})" for key in self._keys]
        last = [f"coalesce((SELECT k{n} FROM last), {end})" for n, end in enumerate(ends)]
        return up_to(self._keys, last)

    def fast(self, of: Range, rows: int) -> str:
        """Scan and put; the position moves on only if every entry found its place.

        For a merge, entries that found none are left: the rows become suspects, since the record
        of whoever came later tells who is right.
        """
        scanned = (("scanned", f"MATERIALIZED ({self._scanned(of, rows)})"),)
        merging = self.method is Method.MERGE
        complete = "true" if merging else "c.wanted = c.put"
        suspected = [part for n, e in enumerate(self.entries) for part in _suspected(n, e)]
        return self._statement(
            of, rows, scanned, self._same, "fast", complete, suspected if merging else ()
        )

    def slow(self, of: Range, rows: int) -> str:
        """Read under lock and put, tombstones notwithstanding.

        Which rows those are is settled before they are locked: one that a writer moves meanwhile
        is the writer's, and must not take the position along to where it goes.
        """
        keys = ", ".join(f"r.{key.name} AS k{n}" for n, key in enumerate(self._keys))
        same = " AND ".join(
            f"r.{key.name} {key.equality} l.k{n}" for n, key in enumerate(self._keys)
        )
        table = self.entries[0].table
        scanned = (
            ("listed", f"MATERIALIZED (SELECT {keys} FROM {self._next(of, rows)})"),
            (
                "scanned",
                f"MATERIALIZED (SELECT {self._values} FROM {table} AS r JOIN listed AS l ON {same} "
                "FOR SHARE OF r)",
            ),
        )
        return self._statement(of, rows, scanned, self.same_or_tombstone, "slow", "true", ())

    def clashes(self, number: int, of: Range, rows: int) -> Iterator[str]:
        """Who has the place of entries that the slow path could not put; to be asked after it."""
        entry = self.entries[number]
        scanned = self._scanned(of, rows)
        for arbiter in entry.arbiters:
            yield clashes(
                entry,
                arbiter,
                f"SELECT {_own(number, entry)} FROM ({scanned}) AS s WHERE h{number}",
            )

    def _scanned(self, of: Range, rows: int) -> str:
        return f"SELECT {self._values} FROM {self._next(of, rows)}"

    @property
    def _values(self) -> str:
        """Key, whether there is an entry, and the entry, of a row and for each index."""
        values = [f"r.{key.name} AS k{n}" for n, key in enumerate(self._keys)]
        for number, entry in enumerate(self.entries):
            values.append(f"{entry.covered} AS h{number}")
            values += [f"{part.value} AS c{number}_{n}" for n, part in enumerate(entry.parts)]
        return ", ".join(values)

    def _next(self, of: Range, rows: int, after: int = 0) -> str:
        where = within(self._keys, of.position, of.upper_key)
        order = ", ".join(f"r.{key.name}" for key in self._keys)
        skipped = f" OFFSET {after}" if after else ""
        return f"{self.entries[0].table} AS r WHERE {where} ORDER BY {order} LIMIT {rows}{skipped}"

    @staticmethod
    def _same(entry: EntrySql) -> str:
        """An entry that already exists is touched, not changed: so it counts as put."""
        return f"SET {_MARK} = false WHERE NOT t.{_MARK} AND {entry.same_entry('t', 'excluded')}"

    @staticmethod
    def same_or_tombstone(entry: EntrySql) -> str:
        values = ", ".join(f"{name} = excluded.{name}" for name in entry.names)
        same = entry.same_entry("t", "excluded")
        return f"SET {values}, {_MARK} = false WHERE t.{_MARK} OR {same}"

    def _statement(
        self,
        of: Range,
        rows: int,
        scanned: Sequence[tuple[str, str]],
        on_conflict: Callable[[EntrySql], str] | None,
        path: str,
        complete: str,
        further: Sequence[tuple[str, str]],
    ) -> str:
        parts = [*scanned]
        read = scanned[0][0]
        puts = []
        plainly = []
        for number, entry in enumerate(self.entries):
            source = f"SELECT {_own(number, entry)} FROM scanned WHERE h{number}"
            is_late = is_identified_late(entry, self.method)
            if on_conflict is None or is_late:
                order = () if is_late else entry.arbiters[0].columns
                parts.append((f"put_{number}", f"({_put_plainly(entry, source, order)})"))
                plainly.append(f"count(*) FILTER (WHERE h{number})")
                continue
            for arbiter_number, arbiter in enumerate(entry.arbiters):
                name = f"put_{number}_{arbiter_number}"
                puts.append(name)
                parts.append((name, f"({put(entry, arbiter, source, on_conflict(entry))})"))
        wanted = " + ".join(
            f"count(*) FILTER (WHERE h{number})" for number in range(len(self.entries))
        )
        rows_read = "count(*)" if read == "scanned" else f"(SELECT count(*) FROM {read})"
        done = " + ".join([*(f"(SELECT count(*) FROM {name})" for name in puts), *plainly])
        counted = f"SELECT {rows_read} AS rows, {wanted} AS wanted, {done} AS put FROM scanned"
        parts.append(("counted", f"({counted})"))
        parts += further
        parts.append(("checkpoint", f"({self._checkpoint(of, rows, read, path, complete)})"))
        return self._telling(parts)

    def _telling(self, parts: Sequence[tuple[str, str]]) -> str:
        """A statement of these parts that says what it did, and how the build is now."""
        return f"""
            WITH {", ".join(f"{name} AS {text}" for name, text in parts)}
            SELECT c.rows, c.wanted, c.put, (SELECT count(*) FROM checkpoint),
                   CASE WHEN b.state <> {literal(State.REVERSING)} THEN b.runner END,
                   b.rows_per_second, b.paused, {OTHERS_WRITE}
            FROM counted c, {self.builds.builds} b WHERE b.id = {self.build}
        """

    def _checkpoint(self, of: Range, rows: int, read: str, path: str, complete: str) -> str:
        last = ", ".join(f"k{n} DESC" for n in range(len(self._keys)))
        names = ", ".join(f"k{n}" for n in range(len(self._keys)))
        texts = ", ".join(output_text(f"k{n}", key.type) for n, key in enumerate(self._keys))
        # As text only the one that is wanted: the server would make one of each before it sorts.
        key = (
            f"SELECT ARRAY[{texts}] FROM (SELECT {names} FROM {read} ORDER BY {last} LIMIT 1) AS l"
        )
        return f"""
            UPDATE {self.builds.ranges} AS g
            SET position = coalesce(({key}), g.position),
                done = c.rows < {rows}, rows = g.rows + c.rows, entries = g.entries + c.put,
                {path} = g.{path} + 1, conflicts = g.conflicts + c.wanted - c.put
            FROM counted c, {self.builds.builds} b
            WHERE g.build = {self.build} AND g.phase = {literal(LOAD)} AND g.number = {of.number}
              AND b.id = g.build AND b.runner = {literal(self.runner)} AND {complete}
              AND {self._still_at(of)}
            RETURNING 1
        """

    def _still_at(self, of: Range) -> str:
        """Nobody else, who took the range for free, has put the same rows meanwhile."""
        if of.position is None:
            return "NOT g.done AND g.position IS NULL"
        return f"NOT g.done AND g.position = ARRAY[{', '.join(map(literal, of.position))}]"


def _own(number: int, entry: EntrySql) -> str:
    """An index's entry among what was scanned."""
    return ", ".join(f"c{number}_{n} AS {part.name}" for n, part in enumerate(entry.parts))


def _put_plainly(entry: EntrySql, source: str, order: Sequence[str]) -> str:
    names = ", ".join(entry.names)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"INSERT INTO {entry.relation} ({names}) SELECT {names} FROM ({source}) AS e{ordered}"


def put(entry: EntrySql, arbiter: Arbiter, source: str, on_conflict: str) -> str:
    """Put the entries that an arbiter is for, in the order of its key."""
    names, where = ", ".join(entry.names), arbiter.condition or "true"
    owner = ", ".join(f"t.{name}" for name in entry.owner)
    return f"""
        INSERT INTO {entry.relation} AS t ({names})
        SELECT {arbiter.distinct}{names} FROM ({source}) AS e WHERE {where}
        ORDER BY {", ".join(arbiter.columns)}
        ON CONFLICT {arbiter.target} DO UPDATE {on_conflict}
        RETURNING {owner}
    """


def _suspected(number: int, entry: EntrySql) -> Iterator[tuple[str, str]]:
    if not entry.unique:
        return
    keys = ", ".join(f"k{n}" for n in range(len(entry.primary_key)))
    puts = " UNION ALL ".join(
        f"SELECT * FROM put_{number}_{arbiter}" for arbiter in range(len(entry.arbiters))
    )
    owner = ", ".join(f"o{n}" for n in range(len(entry.primary_key)))
    same = " AND ".join(f"k{n} {key.equality} o{n}" for n, key in enumerate(entry.primary_key))
    yield (
        f"suspected_{number}",
        f"(INSERT INTO {entry.suspects} SELECT {keys} FROM scanned WHERE h{number} "
        f"AND NOT EXISTS (SELECT FROM ({puts}) AS p({owner}) WHERE {same}))",
    )


def clashes(entry: EntrySql, arbiter: Arbiter, source: str) -> str:
    """Entries of the source in whose place another entry is: key, row and owner, as text."""
    on = " AND ".join(
        part.equal("t", "e") if arbiter.owners_may_differ else part.same("t", "e")
        for part in arbiter.parts
    )
    key = ", ".join(part.text("e") for part in entry.indexed)
    row = ", ".join(part.text("e") for part in entry.owner_parts)
    owner = ", ".join(part.text("t") for part in entry.owner_parts)
    return f"""
        SELECT ARRAY[{key}], ARRAY[{row}], ARRAY[{owner}]
        FROM (SELECT * FROM ({source}) AS e WHERE {arbiter.condition or "true"}) AS e
        JOIN {entry.relation} AS t ON {on}
        WHERE NOT t.{_MARK} AND NOT ({entry.same_entry("t", "e")})
        ORDER BY 1, 2 LIMIT 10
    """
