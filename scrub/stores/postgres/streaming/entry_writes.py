# SPDX-License-Identifier: Apache-2.0
"""Statements that bring the entries of one index to what the rows that arrived say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrub.model.stream.epochs import Cleared
from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_types import IN_BYTES
from scrub.stores.postgres.changes.streamed_table import WantedColumn
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.streaming.carried import ARRIVED, Arrival, Carried, key_values

BY_KEY = (
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_mergejoin = off",
)
"""The server does not know how few rows have arrived, and would read the whole index instead."""


@dataclass(frozen=True, slots=True)
class EntryWrites:
    """Of one index; entries are found by the primary keys of their rows."""

    carried: Carried
    entry: EntrySql
    key: Sequence[WantedColumn]

    def removing(self) -> str:
        """Remove the entries of rows that are gone, or that the index has no entry of any more."""
        entry = self.entry
        names = [f"k{number}" for number in range(len(self.key))]
        gone = ", ".join(f"x.c{number} AS k{number}" for number in range(len(self.key)))
        keys = f"SELECT {gone} FROM {ARRIVED} AS x WHERE x.arrival = '{Arrival.GONE}'"
        if entry.conditions:
            columns = ", ".join(f"{key.name} AS k{n}" for n, key in enumerate(entry.primary_key))
            rows = f"{self.carried.presented(Arrival.CHANGED)} AS r"
            keys += f" UNION ALL SELECT {columns} FROM {rows} WHERE NOT {entry.covered}"
        same = " AND ".join(
            f"t.{part.name} {part.equality} d.{name}"
            for part, name in zip(entry.owner_parts, names, strict=True)
        )
        return f"DELETE FROM {entry.relation} AS t USING ({keys}) AS d WHERE {same}"

    def putting(self) -> str:
        """Put the entries of rows that were read or changed; what is the same is left alone."""
        entry = self.entry
        others = [part for part in entry.parts if part.name not in entry.owner]
        names = ", ".join(entry.names)
        rows = f"{self.carried.presented(Arrival.READ, Arrival.CHANGED)} AS r"
        values = ", ".join(f"{part.name} = excluded.{part.name}" for part in others)
        same = " AND ".join(part.same("t", "excluded") for part in others)
        on_conflict = f"UPDATE SET {values} WHERE NOT ({same})" if others else "NOTHING"
        return (
            f"INSERT INTO {entry.relation} AS t ({names}) "
            f"SELECT {entry.values} FROM {rows} WHERE {entry.covered} "
            f"ON CONFLICT ({', '.join(entry.owner)}) DO {on_conflict}"
        )

    def clearing(self, cleared: Cleared) -> str:
        """Remove the entries of all rows in a stretch of keys."""
        low, high = cleared.slice.low, cleared.slice.high
        after, up_to = cleared.stretch.after, cleared.stretch.up_to
        bounds = [
            *self._bound(">=", low),
            *self._bound("<", high),
            *self._bound(">", after),
            *self._bound("<=", up_to),
        ]
        return f"DELETE FROM {self.entry.relation} AS t WHERE {' AND '.join(bounds) or 'true'}"

    def _bound(self, compare: str, key: Key | None) -> Iterator[str]:
        if key is None:
            return
        names, values = [], []
        parts = zip(self.entry.owner, self.key, self.carried.key, key_values(key), strict=True)
        for name, column, carried, value in parts:
            in_bytes = ' COLLATE pg_catalog."C"' if column.type_oid in IN_BYTES else ""
            names.append(f"t.{name}{in_bytes}")
            values.append(f"{literal(str(value))}::{carried.type}")
        yield f"ROW({', '.join(names)}) {compare} ROW({', '.join(values)})"
