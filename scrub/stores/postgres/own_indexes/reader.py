# SPDX-License-Identifier: Apache-2.0
"""Reading the server's own indexes at the shared snapshot, with nothing but SELECT.

The entries are read first. A query that follows an entry to a row that is dead to all transactions
marks the entry as dead, and no later reading shows it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from scrub.stores.postgres.own_indexes import differences, search
from scrub.stores.postgres.own_indexes.description import IndexColumn, OwnIndex
from scrub.stores.postgres.own_indexes.plan_proof import (
    Demand,
    ReadingRefused,
    Way,
    output_of,
    plan_of,
    prove,
)
from scrub.stores.postgres.own_indexes.readings import (
    IndexReadings,
    Totals,
    new_seeds,
    settings_for,
    totals_of,
)
from scrub.stores.postgres.own_indexes.sessions import IndexSessions
from scrub.stores.postgres.own_indexes.stability import Instability, instabilities
from scrub.stores.postgres.pinned import BYTES_PER_ROW_GUESSED, PAGE_BYTES
from scrub.stores.postgres.relations import columns_of, find_relation
from scrub.stores.postgres.resting import Reading, paid_afterwards, rest_needed

Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """Contents of entries or rows: how often they occur, the digest of the key, and the text."""

    copies: int
    key_digest: int
    texts: Texts


Contents = dict[int, Content]
"""By digest."""


@dataclass(frozen=True, slots=True)
class EntryRead:
    """An entry as the index holds it."""

    digest: int
    key_digest: int
    texts: Texts


@dataclass(frozen=True, slots=True)
class PointerRead:
    """The entry that the row behind a pointer should have."""

    digest: int
    key_digest: int
    row: str


@dataclass(frozen=True, slots=True)
class RowPointers:
    """How many entries lead to a row; `is_due` if the table has it and it belongs in the index."""

    row: str
    is_due: bool
    pointers: int
    digest: int  # of the entry that it would have


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How many more entries than rows have a digest, and what one of the entries holds."""

    more: int
    texts: Texts | None


@dataclass(frozen=True, slots=True)
class Misplaced:
    """An entry that belongs before the one before it."""

    row: str | None
    texts: Texts
    before: Texts


@dataclass(frozen=True, slots=True)
class RowValues:
    """What a row gives for the columns of an index, and its primary key."""

    texts: Texts
    primary_key: Texts


class OwnIndexReader:
    """Reads one index. Each reading has its own connection, so that a failure affects no other."""

    def __init__(self, conninfo: str, snapshot: str, index: OwnIndex) -> None:
        self.sessions, self.index = IndexSessions(conninfo, snapshot), index
        self.readings = IndexReadings(index, new_seeds(), tuple(range(len(index.columns))))
        self.unreadable: str | None = None  # why entries cannot be read
        # Once through all entries, or rows; how many there are is known after the first time.
        octets = index.pages * PAGE_BYTES
        self.reading = Reading(octets / BYTES_PER_ROW_GUESSED, BYTES_PER_ROW_GUESSED)
        self._ask_what_is_held()

    def _ask_what_is_held(self) -> None:
        """Find the columns that an index-only scan gives; the planner alone knows.

        It does so for an expression if the index also holds all columns that the expression needs.
        """
        if not self.index.has_expressions:
            return
        every = self.readings
        plain = [n for n, column in enumerate(self.index.columns) if not column.is_expression]
        try:
            self.readings = replace(every, computed=self._computed())
            self._explain(Way.ENTRIES)
        except ReadingRefused as refused:
            self.readings, self.unreadable = every, str(refused)
            if not plain:
                return
            self.readings = replace(every, held=tuple(plain))
            try:
                self._explain(Way.ENTRIES)
                self.unreadable = None
            except ReadingRefused as still_refused:
                self.readings, self.unreadable = every, str(still_refused)

    def _computed(self) -> tuple[tuple[int, str], ...]:
        """How the server writes each expression of the index when a row gives its value."""
        with self.sessions.session(settings_for(Way.ROWS)) as connection:
            output = output_of(plan_of(connection, self.readings.selected(Way.ROWS)))
        columns = enumerate(self.index.columns)
        return tuple((n, output[n]) for n, column in columns if column.is_expression)

    def _explain(self, way: Way) -> None:
        with self.sessions.session(settings_for(way)) as connection:
            prove(connection, self.readings.totals(way), self.readings.demand(way))

    def disregard_unstable(self) -> tuple[Instability, ...]:
        """Find the expressions that are not immutable in fact; what they give is not compared."""
        found = instabilities(self.sessions, self.index, self.readings.seeds[0])
        uncertain = frozenset(one.number for one in found if one.number is not None)
        held = tuple(n for n in self.readings.held if n not in uncertain)
        self.readings = replace(self.readings, held=held, uncertain=uncertain)
        return found

    @property
    def unheld(self) -> list[IndexColumn]:
        """The columns that no reading of entries gives."""
        if self.unreadable:
            return list(self.index.columns)
        return [c for n, c in enumerate(self.index.columns) if n not in self.readings.held]

    def totals(self, way: Way) -> Totals:
        """The sums of one reading."""
        query = self.readings.totals(way, rest_needed(self.reading.row_bytes, gives_way=False))
        with paid_afterwards(self.reading):
            (row,) = self.sessions.rows(query, self.readings.demand(way), {})
            found = totals_of(row)
            octets = self.reading.rows * self.reading.row_bytes
            self.reading.rows, self.reading.row_bytes = found.count, octets / max(found.count, 1)
        return found

    def rows_not_once(self) -> Iterator[RowPointers]:
        """The rows to which not exactly one entry leads."""
        pointers, rows = (self._buckets(way) for way in (Way.POINTERS, Way.ROWS))
        differing = [b for b in sorted(pointers.keys() | rows) if pointers.get(b) != rows.get(b)]
        if not differing:
            return
        query = differences.rows_not_once(self.readings, differing)
        demand = self.readings.demand(Way.POINTERS, Way.ROWS, may_filter=True)
        for row in self._rows(query, demand):
            yield RowPointers(*row)

    def imbalance(self, count_max: int) -> dict[int, Imbalance] | None:
        """Of each digest, how entries and rows differ; None if too many of them do."""
        query = differences.entries_and_rows(self.readings)
        demand = self.readings.demand(Way.ENTRIES, Way.ROWS)
        found: dict[int, Imbalance] = {}
        for value, more, texts, _ in self._rows(query, demand):
            if len(found) >= count_max:
                return None
            found[value] = Imbalance(more, None if texts is None else tuple(texts))
        return found

    def surplus(self, count_max: int) -> dict[int, int] | None:
        """How many entries of each digest have no row; None if there are too many of them."""
        query = differences.entries_and_pointers(self.readings)
        found: dict[int, int] = {}
        demand = self.readings.demand(Way.ENTRIES, Way.POINTERS)
        for value, copies, _ in self._rows(query, demand):
            if len(found) >= count_max:
                return None
            found[value] = copies
        return found

    def entries(self) -> Iterator[EntryRead]:
        """What the index holds, in its order."""
        query = differences.entries_in_order(self.readings)
        for value, key, texts in self._rows(query, self.readings.demand(Way.ENTRIES)):
            yield EntryRead(value, key, tuple(texts))

    def pointers(self) -> Iterator[PointerRead]:
        """The rows that the index leads to, in its order."""
        query = differences.pointers_in_order(self.readings)
        for row in self._rows(query, self.readings.demand(Way.POINTERS)):
            yield PointerRead(*row)

    def misplaced(self, way: Way, count: int) -> list[Misplaced]:
        query = differences.misplaced_entries(self.readings, way, count)
        return [
            Misplaced(row, tuple(texts), tuple(before))
            for row, texts, before in self._rows(query, self.readings.demand(way))
        ]

    def clashing(self, way: Way) -> Iterator[tuple[str | None, Texts]]:
        """What shares a key that must be unique: where the row lies, if known, and values."""
        query = differences.clashing(self.readings, way)
        demand = self.readings.demand(way, may_sort=way is Way.ROWS)
        for row, texts in self._rows(query, demand):
            yield row, tuple(texts)

    def differing_contents(self, way: Way, count_max: int) -> tuple[Contents, Contents] | None:
        """What entries hold and rows give, of buckets that differ; None if that is too much.

        Two queries, for in one the planner may read the index in place of the rows.
        """
        sides = (way, Way.ROWS)
        entries, rows = (
            {bucket: sums for bucket, *sums in self._grouped(differences.contents_buckets, side)}
            for side in sides
        )
        differing = [b for b in sorted(entries.keys() | rows) if entries.get(b) != rows.get(b)]
        found: list[Contents] = []
        for side in sides:
            held: Contents = {}
            asking = partial(differences.contents, differing=differing)
            for value, copies, key, texts in self._grouped(asking, side):
                if len(held) >= count_max:
                    return None
                held[value] = Content(copies, key, tuple(texts))
            found.append(held)
        return found[0], found[1]

    def _grouped(
        self, asking: Callable[[IndexReadings, Way], str], way: Way
    ) -> Iterator[Sequence[Any]]:
        """What a walk gives by groups; above it, the server may sort and choose as it likes."""
        demand = self.readings.demand(way, may_sort=True, may_filter=True)
        yield from self._rows(asking(self.readings, way), demand)

    def rows_not_found(self, keys: int, rows: Totals) -> Iterator[str]:
        """Where rows lie that a search for their first keys does not find."""
        nulls = self._nulls_among(keys)
        found = [self._found(some) for some in nulls]
        sums = tuple(sum(column) for column in zip(*found, strict=True))
        if sums == (rows.count, *rows.rows) or not found:
            return
        demand = search.demand(self.readings, Way.ROWS, Way.ROWS, Way.POINTERS)
        for some in nulls:
            for (row,) in self._rows(search.rows_not_found(self.readings, some), demand):
                yield row

    def _nulls_among(self, keys: int) -> list[list[bool]]:
        """Which of the first keys are NULL, each combination that rows have."""
        query = search.patterns(self.readings, keys)
        return [row[0] for row in self._rows(query, search.demand(self.readings, Way.ROWS))]

    def _found(self, nulls: Sequence[bool]) -> tuple[int, ...]:
        """How many rows with such keys a search finds, and the sums of their digests."""
        demand = search.demand(self.readings, Way.ROWS, Way.POINTERS)
        (row,) = self._rows(search.found_totals(self.readings, nulls), demand)
        return tuple(int(value) for value in row)

    def values(self, rows: Sequence[str], primary_key: Sequence[str]) -> dict[str, RowValues]:
        """What some rows hold, by where they lie."""
        index = self.index
        with self.sessions.session({}) as connection:
            table = find_relation(connection, index.table_schema, index.table_name)
            columns = columns_of(connection, table)
            key = {name: columns[name].base if name in columns else "" for name in primary_key}
            query = differences.values_at(self.readings, key, rows)
            found = connection.execute(query).fetchall()
        return {row: RowValues(tuple(texts), tuple(key)) for row, texts, key in found}

    def _buckets(self, way: Way) -> dict[int, Sequence[Any]]:
        query = differences.buckets(self.readings, way)
        return {row[0]: row[1:] for row in self._rows(query, self.readings.demand(way))}

    def _rows(self, query: str, demand: Demand) -> Iterator[Sequence[Any]]:
        """What a query gives, once its plan is proven."""
        settings = search.SEARCH_SETTINGS if demand.is_search else {}
        each = Reading(self.reading.rows * len(demand.ways), self.reading.row_bytes)
        with paid_afterwards(each):
            yield from self.sessions.rows(query, demand, settings)
