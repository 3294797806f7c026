# SPDX-License-Identifier: Apache-2.0
"""The queries that count violations of constraints, and those that name the rows.

Keys are looked for in two steps: those that come more than once are found by grouping. Only if
there are any, the rows are read again, and only those with such a key are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrub.model.predicate import ColumnTerm
from scrub.stores.constraints import ConstrainedRows, Reference, RowRules
from scrub.stores.postgres.constraints.stored_rows import StoredRows
from scrub.stores.postgres.pinned import PinnedRelation

_EQUAL = "OPERATOR(pg_catalog.=)"
_REPEATED = "HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1"


@dataclass(frozen=True, slots=True)
class ConstraintQueries:
    """Queries over relations that are pinned.

    `rest` is a condition that is always true, and takes a while now and then.
    """

    pinned: Mapping[str, PinnedRelation]
    rest: str | None = None

    def count_broken(self, rows: ConstrainedRows, rules: RowRules) -> str:
        """One row: all rows, those with each NULL, and those with each check that is false."""
        read = self._read(rows)
        counts = {
            f"broken{n}": f"pg_catalog.count(*) FILTER (WHERE {flag})"
            for n, flag in enumerate(_flags(read, rules).values())
        }
        return read.select({"rows": "pg_catalog.count(*)", **counts})

    def rows_that_break(
        self, rows: ConstrainedRows, rules: RowRules, beside: Sequence[ColumnTerm]
    ) -> str:
        read = self._read(rows)
        flags = _flags(read, rules)
        values = _named("p", rows.primary_key, read) | _named("c", beside, read) | flags
        return read.select(values, f"({' OR '.join(flags.values()) or 'false'})")

    def count_shared(self, rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> str:
        """One row: the keys that different primary keys have, and how many those are."""
        return f"""
            WITH {self._rows_of_repeated_keys(rows, key)}
            SELECT pg_catalog.count(*), coalesce(pg_catalog.sum(n), 0) FROM (
                SELECT pg_catalog.count(*) AS n FROM suspects {_shared_keys(rows, key)}) AS s
        """

    def rows_that_share(self, rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> str:
        keys = _names("k", key)
        return f"""
            WITH {self._rows_of_repeated_keys(rows, key)}
            SELECT suspects.* FROM suspects
            JOIN (SELECT {keys} FROM suspects {_shared_keys(rows, key)}) AS shared
              ON {_same_key("suspects", "shared", key)}
        """

    def count_copied(self, rows: ConstrainedRows) -> str:
        return f"SELECT pg_catalog.count(*) FROM ({self.primary_keys_copied(rows)}) AS s"

    def primary_keys_copied(self, rows: ConstrainedRows) -> str:
        read, names = self._read(rows), _names("p", rows.primary_key)
        values = _named("p", rows.primary_key, read)
        return (
            f"SELECT {names}, pg_catalog.count(*) AS copies "
            f"FROM ({read.select_known(values, values.values())}) AS s GROUP BY {names} {_REPEATED}"
        )

    def count_without_parent(self, reference: Reference) -> str:
        return f"SELECT pg_catalog.count(*) FROM ({self.rows_without_parent(reference)}) AS s"

    def rows_without_parent(self, reference: Reference) -> str:
        rows, key = reference.rows, reference.key
        read = self._read(rows)
        keys = _named("k", key, read)
        values = _named("p", rows.primary_key, read) | keys
        parent = StoredRows(self.pinned[reference.parent.relation], rest=self.rest)
        parents = parent.select(_named("k", reference.parent_key, parent))
        return (
            f"SELECT child.* FROM ({read.select_known(values, keys.values())}) AS child "
            f"WHERE NOT EXISTS (SELECT FROM ({parents}) AS parent "
            f"WHERE {_same_key('child', 'parent', key)})"
        )

    def _rows_of_repeated_keys(self, rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> str:
        """A WITH item: primary and other key of rows whose key comes twice, and their copies."""
        read, every = self._read(rows), self._read(rows)
        keys = _named("k", key, read)
        keys_of_every = _named("k", key, every)
        values = _named("p", rows.primary_key, every) | keys_of_every
        names = _names("k", key)
        each = ", ".join(f"s.{name}" for name in values)
        return f"""
            repeated AS MATERIALIZED (
                SELECT {names} FROM ({read.select_known(keys, keys.values())}) AS s
                GROUP BY {names} {_REPEATED}),
            suspects AS MATERIALIZED (
                SELECT {each}, pg_catalog.count(*) AS copies
                FROM ({every.select_known(values, keys_of_every.values())}) AS s
                JOIN repeated ON {_same_key("s", "repeated", key)} GROUP BY {each})
        """

    def _read(self, rows: ConstrainedRows) -> StoredRows:
        return StoredRows(self.pinned[rows.facts.relation], rows.where, rest=self.rest)


def _shared_keys(rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> str:
    """Groups of suspects that are more than one row; copies with a NULL in the key are several."""
    without_key = " OR ".join(f"p{n} IS NULL" for n in range(len(rows.primary_key)))
    rows_of = f"CASE WHEN {without_key} THEN copies ELSE 1 END"
    many = f"pg_catalog.sum({rows_of}) OPERATOR(pg_catalog.>) 1"
    return f"GROUP BY {_names('k', key)} HAVING {many}"


def _flags(read: StoredRows, rules: RowRules) -> dict[str, str]:
    """What is true of a row that breaks a rule, for each rule."""
    nulls = {f"n{n}": f"({read.value(term)} IS NULL)" for n, term in enumerate(rules.never_null)}
    checks = {f"f{n}": f"({read.value(node)} IS FALSE)" for n, node in enumerate(rules.checks)}
    return nulls | checks


def _named(letter: str, terms: Sequence[ColumnTerm], read: StoredRows) -> dict[str, str]:
    return {f"{letter}{n}": read.value(term) for n, term in enumerate(terms)}


def _names(letter: str, terms: Sequence[ColumnTerm]) -> str:
    return ", ".join(f"{letter}{n}" for n in range(len(terms)))


def _same_key(left: str, right: str, key: Sequence[ColumnTerm]) -> str:
    """Equality that allows a hash join; integers of different width have such an operator, too."""
    return " AND ".join(f"{left}.k{n} {_EQUAL} {right}.k{n}" for n in range(len(key)))
