# SPDX-License-Identifier: Apache-2.0
"""Compares a table with its index table inside the server that holds both.

The server joins the two sides by primary key and counts what differs, so a clean check moves no
row. Duplicates multiply in a join: there are none if and only if the joined pairs are as many as
the entries of each side that found a partner. If the server keeps the table's key unique, each
entry of the index occurs in the join once and need not be counted again. Entries are fetched only
if something differs or is duplicated, and only those of the rows concerned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrub.model.types import ColumnType
from scrub.stores.base import ComparedEntries
from scrub.stores.postgres.column_types import as_sent

_EQUAL = "OPERATOR(pg_catalog.=)"  # every value is of a type that scrub chose, see `value_of`


@dataclass(frozen=True, slots=True)
class ServerSide:
    """One side of a comparison: SQL for the primary key, the other columns, and the conditions."""

    source: str
    primary_key: tuple[str, ...]
    beside: tuple[str, ...]
    conditions: tuple[str, ...]
    choice: tuple[str, ...] = ()  # which rows are looked at: all must be true

    @property
    def chosen(self) -> str | None:
        """The keys of all rows that are looked at, whether they have an entry or not."""
        return replace(self, beside=(), conditions=()).where() if self.choice else None

    @property
    def others(self) -> str | None:
        """The entries of rows that are not looked at."""
        if not self.choice:
            return None
        return replace(self, choice=()).where(f"({' AND '.join(self.choice)}) IS NOT TRUE")

    def where(self, condition: str | None = None) -> str:
        """The entries, as a query; a condition may be added."""
        values = [f"{value} AS p{n}" for n, value in enumerate(self.primary_key)]
        values += [f"{value} AS c{n}" for n, value in enumerate(self.beside)]
        # Records, unlike columns, are equal where both have NULL.
        values += [f"ROW({', '.join(self.primary_key)}) AS k", "true AS present"]
        conditions = [*self.conditions, *self.choice, *([condition] if condition else [])]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {', '.join(values)} FROM {self.source}{where}"


@dataclass(frozen=True, slots=True)
class EntryComparison:
    """The two sides of one index, with the types of their columns."""

    expected: ServerSide
    actual: ServerSide
    key_types: tuple[ColumnType, ...]
    types: tuple[ColumnType, ...]  # of what is beside the primary key
    null_keys: bool  # whether a primary key may hold NULL
    unique_rows: bool  # whether the server lets no primary key of the table come twice

    @property
    def columns(self) -> list[tuple[str, ColumnType]]:
        """What entries consist of when they are fetched."""
        keys = [(f"p{n}", of_type) for n, of_type in enumerate(self.key_types)]
        return keys + [(f"c{n}", of_type) for n, of_type in enumerate(self.types)]

    def counting(self, rest: str | None = None) -> str:
        """One row: pairs, entries of both sides that took part, and those that differ.

        `rest` is a condition that is always true, and takes a while now and then.
        """
        in_join = f"pg_catalog.count(a.{self._mark})"
        actual = f"(SELECT pg_catalog.count(*) FROM ({self._entries(rest)}) AS a)"
        return f"""
            SELECT pg_catalog.count({rest or "*"}), pg_catalog.count(e.{self._mark}), {in_join},
                   pg_catalog.count(*) FILTER (WHERE {self._differs()}),
                   (SELECT pg_catalog.count(*) FROM ({self.expected.where(rest)}) AS e),
                   {in_join if self.unique_rows else actual}
            FROM {self._joined(rest)}
        """

    @staticmethod
    def counted(row: Sequence[int]) -> ComparedEntries:
        """What the row of `counting` means."""
        pairs, expected, actual, differing, all_expected, all_actual = row
        matched = expected + actual - pairs
        alone = (pairs - actual, pairs - expected)
        copies = (matched, matched) != (all_expected - alone[0], all_actual - alone[1])
        return ComparedEntries(all_expected, all_actual, differing, copies)

    def fetching(self, copies: bool) -> str:
        """The entries of both sides of every row that differs, or has copies."""
        keys = [f"p{n}" for n in range(len(self.key_types))]
        listed = ", ".join(keys)
        suspects = [
            f"SELECT {', '.join(f'coalesce(e.{k}, a.{k}) AS {k}' for k in (*keys, 'k'))} "
            f"FROM {self._joined()} WHERE {self._differs()}"
        ]
        if copies:
            suspects += [
                f"SELECT {listed}, k FROM ({side}) AS s "
                f"GROUP BY {listed}, k HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1"
                for side in (self.expected.where(), self._entries())
            ]
        values = [f"{as_sent(name, of_type)} AS {name}" for name, of_type in self.columns]
        sides = [
            f"SELECT {expected} AS expected, {', '.join(values)} FROM ({side}) AS s "
            f"WHERE EXISTS (SELECT FROM suspects WHERE {self._same_key('s', 'suspects')})"
            for expected, side in (
                ("true", self.expected.where()),
                ("false", self._entries()),
                ("NULL::boolean", None if self.unique_rows else self.expected.others),
            )
            if side is not None
        ]
        return f"""
            WITH suspects AS MATERIALIZED ({" UNION ".join(suspects)})
            {" UNION ALL ".join(sides)}
        """

    def sharing(self, key: Sequence[str]) -> str:
        """The expected entries whose key another one has too."""
        listed, known = ", ".join(key), " AND ".join(f"{name} IS NOT NULL" for name in key)
        values = [f"{as_sent('s.' + name, of_type)} AS {name}" for name, of_type in self.columns]
        return f"""
            WITH shared AS MATERIALIZED (
                SELECT {listed} FROM ({self.expected.where()}) AS s WHERE {known}
                GROUP BY {listed} HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1)
            SELECT true AS expected, {", ".join(values)} FROM ({self.expected.where()}) AS s
            JOIN shared ON {" AND ".join(f"s.{name} {_EQUAL} shared.{name}" for name in key)}
        """

    @property
    def _mark(self) -> str:
        """A column that is NULL only where a side has nothing to join with."""
        return "present" if self.null_keys else "p0"

    def _entries(self, condition: str | None = None) -> str:
        """The entries that are there, of chosen rows if some were chosen."""
        entries, chosen = self.actual.where(condition), self.expected.chosen
        if chosen is None:
            return entries
        same = self._same_key("a", "chosen")
        of_chosen = f"EXISTS (SELECT FROM ({chosen}) AS chosen WHERE {same})"
        return f"SELECT * FROM ({entries}) AS a WHERE {of_chosen}"

    def _joined(self, condition: str | None = None) -> str:
        on = self._same_key("e", "a")
        expected, actual = self.expected.where(condition), self._entries(condition)
        return f"({expected}) AS e FULL JOIN ({actual}) AS a ON {on}"

    def _same_key(self, left: str, right: str) -> str:
        """Equality that allows a hash or merge join; comparing records is slower."""
        if self.null_keys:
            return f"{left}.k {_EQUAL} {right}.k"
        keys = range(len(self.key_types))
        return " AND ".join(f"{left}.p{n} {_EQUAL} {right}.p{n}" for n in keys)

    def _differs(self) -> str:
        beside = [f"e.c{n} IS DISTINCT FROM a.c{n}" for n in range(len(self.types))]
        return " OR ".join([f"e.{self._mark} IS NULL", f"a.{self._mark} IS NULL", *beside])
