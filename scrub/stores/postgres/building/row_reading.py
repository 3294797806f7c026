# SPDX-License-Identifier: Apache-2.0
"""How a trigger function reads rows: the one it fires for, and the one that a key has now.

Each reading comes twice: as a plain statement with the names that the table had when the function
was made, and as one that is put together from the names it has now, for a table that was altered
since. Both present the row under the old names, in the old types: so expressions need no change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scrub.stores.postgres.building.firing import build_again, refused
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier, literal

NAMES_NOW = (
    "VARIADIC pg_catalog.array_append(names, {relation}::pg_catalog.regclass::pg_catalog.text)"
)
"""What fills the places of a statement: the columns' names, and last the relation's."""


@dataclass(frozen=True, slots=True)
class RowReading:
    """Readings for one index; after each, `rows` says whether the row has an entry there."""

    entry: EntrySql

    DECLARED = """
        rows pg_catalog.int8;
        k record;
    """

    def entry_of(self, record: str, into: str) -> str:
        """The entry of OLD or NEW: of the row as it was written, whatever happened to it since."""
        columns = ", ".join(f"{record}.{name} AS {name}" for name in self._names)
        return self._either(
            self._selecting(into, f"SELECT {columns}"),
            self._selected(f"SELECT {self._presented('($1)')}"),
            into,
            record,
        )

    def entry_now(self, key: Sequence[str], into: str) -> str:
        """The entry of the row that has this key by now, whoever wrote it."""
        columns = ", ".join(f"x.{name} AS {name}" for name in self._names)
        pairs = list(zip(self.entry.primary_key, key, strict=True))
        known = " AND ".join(f"x.{of.name} {of.equality} {value}" for of, value in pairs)
        given = " AND ".join(
            f"x.{self._place(of.name)} {of.equality} ${n}"
            for n, (of, _) in enumerate(pairs, start=1)
        )
        # Of a table without partitions, rows of tables that inherit from it are none of its own.
        only = "" if self.entry.is_partitioned else "ONLY "
        table = f"{only}{self.entry.table} AS x"
        table_now = f"{only}{self._place_of_relation} AS x"
        return self._either(
            self._selecting(into, f"SELECT {columns} FROM {table} WHERE {known}"),
            self._selected(f"SELECT {self._presented('x')} FROM {table_now} WHERE {given}"),
            into,
            ", ".join(key),
        )

    def key_of(self, record: str, into: Sequence[str]) -> str:
        """The primary key of OLD or NEW, into variables."""
        keys = self.entry.primary_key
        assigned = [f"{to} := {record}.{of.name};" for to, of in zip(into, keys, strict=True)]
        chosen = ", ".join(f"($1).{self._place(of.name)} AS k{n}" for n, of in enumerate(keys))
        # By way of a record: a variable may be a row itself, and then no list can have it.
        taken = "\n".join(f"{to} := k.k{n};" for n, to in enumerate(into))
        return self._either("\n".join(assigned), f"SELECT {chosen}", "k", record, then=taken)

    def entries_in_place(self) -> str:
        """The entries of all rows of a relation, as a statement that is still to be filled in."""
        return self._selected(
            f"SELECT {self._presented('x')} FROM ONLY {self._place_of_relation} AS x"
        )

    def _selecting(self, into: str, row: str) -> str:
        chosen = f"FROM ({row}) AS r WHERE {self.entry.covered} LIMIT 1"
        return f"SELECT {self.entry.typed_values} INTO {into} {chosen};"

    def _selected(self, row: str) -> str:
        values, covered = as_text(self.entry.typed_values), as_text(self.entry.covered)
        return f"SELECT {values} FROM ({row}) AS r WHERE {covered}"

    def _presented(self, row: str) -> str:
        return ", ".join(
            f"({row}.%{n}$I)::{as_text(of.type)} AS {as_text(identifier(of.name))}"
            for n, of in enumerate(self.entry.sources, start=1)
        )

    @property
    def _names(self) -> list[str]:
        return [identifier(of.name) for of in self.entry.sources]

    def _place(self, name: str) -> str:
        return f"%{self._names.index(name) + 1}$I"

    @property
    def _place_of_relation(self) -> str:
        return f"%{len(self._names) + 1}$s"

    def _either(self, plain: str, built: str, into: str, using: str, then: str = "") -> str:
        names = NAMES_NOW.format(relation="own")
        index = self.entry.index
        message = literal(f"scrub: index {index} cannot hold a value of this row any more: ")
        return f"""
        IF moved THEN
            BEGIN
                EXECUTE pg_catalog.format({literal(built)}, {names}) INTO {into} USING {using};
                {then}
            EXCEPTION WHEN numeric_value_out_of_range THEN
                {refused(f"pg_catalog.concat({message}, SQLERRM)", self._rebuild_hint)}
            END;
        ELSE
            {plain}
        END IF;
        GET DIAGNOSTICS rows = ROW_COUNT;"""

    @property
    def _rebuild_hint(self) -> str:
        return f"A column of the table was made wider; {build_again(self.entry)}"


def as_text(sql: str) -> str:
    """SQL in which format() finds no place to fill in."""
    return sql.replace("%", "%%")
