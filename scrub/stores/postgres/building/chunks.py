# SPDX-License-Identifier: Apache-2.0
"""Filling an index from the table, chunk by chunk, each in one statement.

The fast path reads rows at the statement's snapshot and puts their entries where nothing ever was,
not even a tombstone, or where the same entry is. Whatever a writer changed since the snapshot has
left an entry or a tombstone, so a put that succeeds is right. Any that fails sends the chunk to the
slow path: the rows are read again under lock, as they are now, and tombstones count as nothing.
What is still in the way then belongs to another row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scrub.model.build import Method
from scrub.stores.postgres.building.builds import Builds, Range
from scrub.stores.postgres.building.checkpoints import Checkpoint, Parts
from scrub.stores.postgres.building.key_ranges import typed, up_to, within
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.building.puts import clashes, put, put_plainly, same, same_or_tombstone
from scrub.stores.postgres.building.relations_made import is_identified_late
from scrub.stores.postgres.entry_parts import KeyColumn
from scrub.stores.postgres.entry_sql import EntrySql

SLOW_ROWS_MAX = 500
"""Rows locked at a time: writers of these wait meanwhile."""


@dataclass(frozen=True, slots=True)
class ChunkSql:
    """The statements that fill the indexes of a build from the next rows of a range."""

    place: BuildPlace
    builds: Builds
    of: Range
    rows: int

    @property
    def _entries(self) -> tuple[EntrySql, ...]:
        return self.place.entries

    @property
    def _keys(self) -> tuple[KeyColumn, ...]:
        return self._entries[0].primary_key

    @property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.place, self.builds, self.of, self.rows)

    def plain(self) -> str:
        """The fast path for when nothing is in the way: fails as a whole if anything is.

        To put without looking first costs less, and is as right: the unique index refuses
        whatever finds an entry or a tombstone.
        """
        if len(self._entries) == 1:
            return self._directly()
        return self._statement([("scanned", f"MATERIALIZED ({self._scanned})")], None)

    def _directly(self) -> str:
        """The same for one index: its entries come straight from the table.

        Where the chunk ends is looked up in the index of the primary key, at the same snapshot.
        What several indexes share must be kept until each had it, which costs a quarter more.
        """
        (entry,), of = self._entries, self.of
        # Without the end of the range: given two bounds, the server may go by the looser one.
        chosen = " AND ".join(
            (within(self._keys, of.position, None), self._up_to_the_last, entry.covered)
        )
        source = f"SELECT {entry.values} FROM {entry.table} AS r WHERE {chosen}"
        putting, entries_put = put_plainly(entry, source, self._order_of(entry)), "rows"
        if entry.conditions:  # else every row has an entry
            putting, entries_put = f"{putting} RETURNING 1", "(SELECT count(*) FROM put)"
        rest = f"{entry.table} AS r WHERE {within(self._keys, of.position, of.upper_key)}"
        rows_read = f"""
            SELECT CASE WHEN EXISTS (SELECT FROM last) THEN {self.rows}
                        ELSE (SELECT count(*) FROM {rest}) END AS rows"""
        counted = f"SELECT rows, {entries_put} AS wanted, {entries_put} AS put FROM read"
        last = self._next(1, after=self.rows - 1)
        parts = (
            ("last", f"MATERIALIZED (SELECT {self._key_values} FROM {last})"),
            ("put", f"({putting})"),
            ("read", f"MATERIALIZED ({rows_read})"),
            ("counted", f"({counted})"),
        )
        return self._checkpoint.after(parts, "last", "fast")

    @property
    def _up_to_the_last(self) -> str:
        """Rows of the chunk; if so few are left that it has no last one, all of the range."""
        if self.of.upper_key is not None:
            ends = typed(self._keys, self.of.upper_key)
        else:
            order = ", ".join(f"{key.name} DESC" for key in self._keys)
            of_table = f"FROM {self._entries[0].table} ORDER BY {order} LIMIT 1"
            ends = [f"(SELECT {key.name} {of_table})" for key in self._keys]
        last = [f"coalesce((SELECT k{n} FROM last), {end})" for n, end in enumerate(ends)]
        return up_to(self._keys, last)

    def fast(self) -> str:
        """Scan and put; the position moves on only if every entry found its place.

        For a merge, entries that found none are left: the rows become suspects, since the record
        of whoever came later tells who is right.
        """
        scanned = [("scanned", f"MATERIALIZED ({self._scanned})")]
        if self.place.method is not Method.MERGE:
            return self._statement(scanned, same, complete="c.wanted = c.put")
        suspected = [part for n, e in enumerate(self._entries) for part in _suspected(n, e)]
        return self._statement(scanned, same, further=suspected)

    def slow(self) -> str:
        """Read under lock and put, tombstones notwithstanding.

        Which rows those are is settled before they are locked: one that a writer moves meanwhile
        is the writer's, and must not take the position along to where it goes.
        """
        same_key = " AND ".join(
            f"r.{key.name} {key.equality} l.k{n}" for n, key in enumerate(self._keys)
        )
        locked = f"{self._entries[0].table} AS r JOIN listed AS l ON {same_key} FOR SHARE OF r"
        scanned = (
            ("listed", f"MATERIALIZED (SELECT {self._key_values} FROM {self._next(self.rows)})"),
            ("scanned", f"MATERIALIZED (SELECT {self._values} FROM {locked})"),
        )
        return self._statement(scanned, same_or_tombstone, path="slow")

    def clashes(self, number: int) -> Iterator[str]:
        """Who has the place of entries that the slow path could not put; to be asked after it."""
        entry = self._entries[number]
        source = f"SELECT {_own(number, entry)} FROM ({self._scanned}) AS s WHERE h{number}"
        return (clashes(entry, arbiter, source) for arbiter in entry.arbiters)

    @property
    def _scanned(self) -> str:
        return f"SELECT {self._values} FROM {self._next(self.rows)}"

    @property
    def _key_values(self) -> str:
        return ", ".join(f"r.{key.name} AS k{n}" for n, key in enumerate(self._keys))

    @property
    def _values(self) -> str:
        """Key, whether there is an entry, and the entry, of a row and for each index."""
        values = [self._key_values]
        for number, entry in enumerate(self._entries):
            values.append(f"{entry.covered} AS h{number}")
            values += [f"{part.value} AS c{number}_{n}" for n, part in enumerate(entry.parts)]
        return ", ".join(values)

    def _next(self, rows: int, after: int = 0) -> str:
        where = within(self._keys, self.of.position, self.of.upper_key)
        order = ", ".join(f"r.{key.name}" for key in self._keys)
        skipped = f" OFFSET {after}" if after else ""
        table = self._entries[0].table
        return f"{table} AS r WHERE {where} ORDER BY {order} LIMIT {rows}{skipped}"

    def _order_of(self, entry: EntrySql) -> tuple[str, ...]:
        """In which entries are put plainly: any, while no index of them is there."""
        is_late = is_identified_late(entry, self.place.method)
        return () if is_late else entry.arbiters[0].columns

    def _statement(
        self,
        scanned: Parts,
        on_conflict: Callable[[EntrySql], str] | None,
        path: str = "fast",
        complete: str = "true",
        further: Parts = (),
    ) -> str:
        """Put what was scanned, for each index; plainly where nothing is said of conflicts."""
        parts, read = [*scanned], scanned[0][0]
        puts, plainly = [], []
        wanted = [f"count(*) FILTER (WHERE h{number})" for number in range(len(self._entries))]
        for number, entry in enumerate(self._entries):
            source = f"SELECT {_own(number, entry)} FROM scanned WHERE h{number}"
            if on_conflict is None or is_identified_late(entry, self.place.method):
                plain = put_plainly(entry, source, self._order_of(entry))
                parts.append((f"put_{number}", f"({plain})"))
                plainly.append(wanted[number])
                continue
            for arbiter_number, arbiter in enumerate(entry.arbiters):
                name = f"put_{number}_{arbiter_number}"
                puts.append(f"(SELECT count(*) FROM {name})")
                parts.append((name, f"({put(entry, arbiter, source, on_conflict(entry))})"))
        rows_read = "count(*)" if read == "scanned" else f"(SELECT count(*) FROM {read})"
        counted = (
            f"SELECT {rows_read} AS rows, {' + '.join(wanted)} AS wanted, "
            f"{' + '.join([*puts, *plainly])} AS put FROM scanned"
        )
        every = (*parts, ("counted", f"({counted})"), *further)
        return self._checkpoint.after(every, read, path, complete)


def _own(number: int, entry: EntrySql) -> str:
    """An index's entry among what was scanned."""
    return ", ".join(f"c{number}_{n} AS {part.name}" for n, part in enumerate(entry.parts))


def _suspected(number: int, entry: EntrySql) -> Iterator[tuple[str, str]]:
    """Rows whose entry found no place, added to the suspects of a unique index."""
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
