# SPDX-License-Identifier: Apache-2.0
"""The three readings of an index and its table, as SQL, and their sums.

*Entries* are what the index itself holds, in its order. *Pointers* are the rows that its entries
lead to, in the same order. *Rows* are those of the table in physical order. Each reading is one
scan from start to end: ranges over a tree that is out of order would miss part of it.

The sums of a reading are made in the server. Entries and pointers must have the same contents at
the same positions; pointers and rows must be the same rows.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from scrub.stores.postgres.own_indexes.description import OwnIndex
from scrub.stores.postgres.own_indexes.operator_classes import by_value
from scrub.stores.postgres.own_indexes.order import equals, is_null, order_by, sorts_before
from scrub.stores.postgres.own_indexes.plan_proof import Demand, Way

BUCKETS = 4096
_OFF, _ON = "off", "on"
# What would read in another way than the one that is wanted.
_SETTINGS: Mapping[Way, dict[str, str]] = {
    Way.ENTRIES: {"enable_seqscan": _OFF, "enable_sort": _OFF},
    Way.POINTERS: {"enable_seqscan": _OFF, "enable_sort": _OFF, "enable_indexonlyscan": _OFF},
    Way.ROWS: {"enable_indexscan": _OFF, "enable_indexonlyscan": _OFF},
}
_ALWAYS = {
    "max_parallel_workers_per_gather": "0",
    "enable_bitmapscan": _OFF,
    "enable_incremental_sort": _OFF,
    "enable_mergejoin": _OFF,
    "enable_nestloop": _OFF,
    "enable_hashagg": _ON,
    "enable_hashjoin": _ON,
    # A cursor is planned like any other query, not for its first rows.
    "cursor_tuple_fraction": "1",
    "jit": _OFF,
    # Policies would hide rows from one reading; so the server says that there are some.
    "row_security": _OFF,
}


def settings_for(*ways: Way) -> dict[str, str]:
    """What a session must be set to for a query that reads in these ways.

    In a query that reads in several, the order that is asked for leads to the index, and what is
    selected beside the keys leads to the rows.
    """
    changed = ("enable_seqscan", "enable_sort", "enable_indexscan", "enable_indexonlyscan")
    settings = _ALWAYS | dict.fromkeys(changed, _ON)
    if len(ways) == 1:
        return settings | _SETTINGS[ways[0]]
    only = Way.ENTRIES in ways
    return settings | {"enable_sort": _OFF, "enable_indexonlyscan": _ON if only else _OFF}


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of one reading; what a reading does not tell is zero."""

    count: int
    contents: tuple[int, int]  # of what entries hold, or rows give
    positions: tuple[int, int]  # of the same with its positions
    rows: tuple[int, int]  # of the same with its rows
    out_of_order: int
    repeated: int  # entries with the key of the one before them, where it must be unique


def new_seeds() -> tuple[int, int]:
    """Two random seeds, so that no data can be prepared against them."""
    first, second = (secrets.randbits(64) - (1 << 63) for _ in range(2))
    return first, second


@dataclass(frozen=True, slots=True)
class IndexReadings:
    """The queries about one index that holds entries itself."""

    index: OwnIndex
    seeds: tuple[int, int]
    held: tuple[int, ...]  # columns that an index-only scan gives as the index holds them
    computed: tuple[tuple[int, str], ...] = ()  # those of them that are expressions, as computed
    uncertain: frozenset[int] = frozenset()  # columns that are no evidence, whatever they give

    def demand(self, *ways: Way, may_sort: bool = False, may_filter: bool = False) -> Demand:
        return Demand(
            table=self.index.table_name,
            index=self.index.name,
            ways=ways,
            may_sort=may_sort,
            may_filter=may_filter,
            held=self.computed,
        )

    @property
    def names(self) -> list[str]:
        """What the index's columns are called in a reading."""
        return [f"c{number}" for number in range(len(self.index.columns))]

    @property
    def key_names(self) -> list[str]:
        return self.names[: len(self.index.keys)]

    def has_places(self, way: Way) -> bool:
        """Whether a reading tells where rows lie, which a role with some columns may not know."""
        return way is not Way.ENTRIES and self.index.is_readable

    def tells_keys(self, way: Way) -> bool:
        """Whether a reading gives all keys, by which order is judged."""
        if any(number in self.uncertain for number in range(len(self.index.keys))):
            return False
        return way is not Way.ENTRIES or set(range(len(self.index.keys))) <= set(self.held)

    def reading(self, way: Way, condition: str | None = None) -> str:
        """All entries, or all rows; `r` is where the row lies."""
        index = self.index
        conditions = [condition] if condition else []
        if index.predicate:
            # In a CASE it is not taken for the predicate of an index, which then need not be read.
            hidden = f"CASE WHEN {index.predicate} THEN true ELSE false END"
            conditions.append(hidden if way is Way.ROWS else index.predicate)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{self.selected(way)}{where}{self._order(way)}"

    def selected(self, way: Way = Way.POINTERS) -> str:
        """What a reading gives, from the table."""
        values = [
            f"{column.expression} AS c{n}"
            if self._gives(way, n)
            else f"CASE WHEN false THEN {column.expression} END AS c{n}"  # a NULL of its type
            for n, column in enumerate(self.index.columns)
        ]
        if self.has_places(way):
            values.append("ctid AS r")
        return f"SELECT {', '.join(values)} FROM ONLY {self.index.table_sql}"

    def _gives(self, way: Way, number: int) -> bool:
        return way is not Way.ENTRIES or number in self.held

    def _order(self, way: Way) -> str:
        """What makes the planner walk through the index: its order, as far as it can be asked for.

        All entries come in the order of the index, however much of it is asked for.
        """
        numbers = takewhile(lambda n: self.can_ask_for(way, n), range(len(self.index.keys)))
        order = order_by([self.index.keys[n] for n in numbers]) if way is not Way.ROWS else ""
        if order:
            return f" ORDER BY {order}"
        # Without an order, expressions would be computed further up, from what the scan gives.
        return " OFFSET 0" if way is Way.ENTRIES else ""

    def can_ask_for(self, way: Way, number: int) -> bool:
        """Whether ORDER BY can have this key."""
        order = self.index.keys[number].order
        return order is not None and order.is_orderable and self._gives(way, number)

    def walked(self, way: Way) -> str:
        """A reading with each entry's position `n` and the key before it, `p0` and so on."""
        before = [f"lag({name}) OVER () AS p{n}" for n, name in enumerate(self.key_names)]
        listed = ", ".join(["s.*", "row_number() OVER () AS n", *before])
        return f"SELECT {listed} FROM ({self.reading(way)}) AS s"

    def totals(self, way: Way, rest: str | None = None) -> str:
        """One row: what `Totals` holds; `rest` is a condition that takes its time at each row.

        It is computed above the scan: a scan with a condition would prove nothing.
        """
        count = f"count({rest or '*'})"
        nothing = ["0", "0"]
        by_row = self.sums("r") if self.has_places(way) else nothing
        told_by_row = way is Way.POINTERS and self.has_places(way)
        contents = nothing if told_by_row else self.sums()
        if way is Way.ROWS:
            values = [count, *contents, *nothing, *by_row, *nothing]
            return f"SELECT {', '.join(values)} FROM ({self.reading(way)}) AS s"
        by_position = self.sums("n")
        misplaced = repeated = "0"
        if self.tells_keys(way):
            misplaced = f"count(*) FILTER (WHERE {self.misplaced})"
            if self.index.is_unique:
                repeated = f"count(*) FILTER (WHERE {self.repeated})"
        values = [count, *contents, *by_position, *by_row, misplaced, repeated]
        return f"SELECT {', '.join(values)} FROM ({self.walked(way)}) AS s"

    @property
    def misplaced(self) -> str:
        """Whether an entry of a walk belongs before the one before it."""
        return f"n > 1 AND {sorts_before(self.index.keys, self.key_names, self._before)}"

    @property
    def repeated(self) -> str:
        """Whether an entry of a walk clashes with the one before it."""
        return f"n > 1 AND {self.clashing(self._before)}"

    def clashing(self, other: Sequence[str]) -> str:
        """Whether the key is that of another row, which a unique index forbids."""
        same = equals(self.index.keys, self.key_names, other)
        if self.index.nulls_clash:
            return same
        return " AND ".join([same, *(f"NOT {is_null(name)}" for name in self.key_names)])

    def bucket(self, row: str) -> str:
        """The bucket of a row, which no index knows."""
        return f"(pg_catalog.hash_record_extended(ROW({row}), ({self.seeds[0]})) & {BUCKETS - 1})"

    def digest(self, *more: str, seed: int | None = None) -> str:
        """64 bits of what entries are compared by, and of more."""
        return self.digest_of(self.held, *more, seed=seed)

    def key_digest(self) -> str:
        """64 bits of the part of it that is key."""
        return self.digest_of([n for n in self.held if n < len(self.index.keys)])

    def digest_of(self, columns: Iterable[int], *more: str, seed: int | None = None) -> str:
        """64 bits of some columns, and of more."""
        own = self.seeds[0] if seed is None else seed
        return digest([*more, *(self._comparable(n, own) for n in columns)], own)

    def _comparable(self, number: int, seed: int) -> str:
        """What is the same for values that are equal, and else is not."""
        name, column = self.names[number], self.index.columns[number]
        return by_value(name, column.has_letters, seed) if column.is_by_value else name

    def sums(self, *more: str) -> list[str]:
        """The digests of a reading, added up."""
        return [f"coalesce(sum({self.digest(*more, seed=seed)}), 0)" for seed in self.seeds]

    @property
    def _before(self) -> list[str]:
        return [f"p{number}" for number in range(len(self.key_names))]


def digest(values: Sequence[str], seed: int) -> str:
    """64 bits of a record; its bytes are hashed, since some types' own hashes have 32 bits."""
    record = f"ROW(pg_catalog.record_send(ROW({', '.join(values)})))"
    return f"pg_catalog.hash_record_extended({record}, ({seed}))"


def totals_of(row: Sequence[int]) -> Totals:
    """What the row of `IndexReadings.totals` means."""
    count, *sums, out_of_order, repeated = (int(value) for value in row)
    contents, positions, rows = zip(sums[::2], sums[1::2], strict=True)
    return Totals(count, contents, positions, rows, out_of_order, repeated)
