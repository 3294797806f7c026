# SPDX-License-Identifier: Apache-2.0
"""The place of a lost row in a PostgreSQL table: found, filled, and emptied again."""

from dataclasses import dataclass

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.repair import Action, ActionOutcome, Entry
from scrub.model.table import Column, Table
from scrub.stores.entry_states import comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.quoting import beside_parameters, identifier
from scrub.stores.postgres.repairs.index_table import IndexTable, arrays_of, lists_of
from scrub.stores.postgres.repairs.lost_rows import generated_columns
from scrub.stores.postgres.repairs.table_rows import TableRows, key_columns
from scrub.stores.recovering import row_shape
from scrub.stores.repairing import Applied

_CASCADING = """
    SELECT c.conrelid::regclass::text,
           (SELECT string_agg(format('r.%%I OPERATOR(%%I.%%s) c.%%I', parent.attname, n.nspname,
                                     o.oprname, child.attname), ' AND ')
            FROM unnest(c.conkey, c.confkey, c.conpfeqop) AS k(child, parent, operator)
            JOIN pg_operator o ON o.oid = k.operator
            JOIN pg_namespace n ON n.oid = o.oprnamespace
            JOIN pg_attribute child ON child.attrelid = c.conrelid AND child.attnum = k.child
            JOIN pg_attribute parent ON parent.attrelid = c.confrelid AND parent.attnum = k.parent)
    FROM pg_constraint c
    WHERE c.confrelid = %s AND c.contype = 'f' AND c.confdeltype IN ('c', 'n', 'd')
"""
"""Foreign keys by which deleting a row would change other tables, and their conditions."""


class LeftAlone(Exception):
    """A row that is left as it is; whatever the transaction did so far is rolled back."""

    def __init__(self, outcome: ActionOutcome, reason: str = "") -> None:
        super().__init__(reason)
        self.applied = Applied(outcome, reason=reason)


@dataclass(slots=True)
class RowPlace:
    """Where a row is or could be: its table, and its key."""

    brief: Brief
    table: Table
    rows: IndexTable  # the table, whose rows are found like entries
    key: pa.Table
    generated: frozenset[str]

    @classmethod
    def of(cls, brief: Brief, schema: str, table: Table, key: Entry) -> "RowPlace":
        rows = IndexTable.of(brief, schema, row_shape(table))
        if not rows.is_guarded or rows.relation.has_children:
            # Nothing else keeps a second row of the key out.
            brief.execute(f"LOCK TABLE {rows.relation.sql} IN SHARE ROW EXCLUSIVE MODE")
        generated = generated_columns(brief.connection, rows.relation)
        return cls(brief, table, rows, to_table([key], key_columns(table)), generated)

    def find(self, lock: bool) -> pa.Table:
        return self.rows.find(self.brief, self.key, lock).entries

    def demand_absent(self, wanted: Entry) -> None:
        found = self.find(lock=False)
        if found.num_rows:
            is_same = comparable(found) == comparable(to_table([wanted], self.rows.shape.columns))
            same, other = ActionOutcome.ALREADY_RIGHT, ActionOutcome.ROW_CHANGED
            raise LeftAlone(same if is_same else other)

    def insert(self, action: Action) -> None:
        """With NULL for all that nobody knows: a default would look like knowledge."""
        known = self._known(action)
        arrays, names = arrays_of(known, self.rows.columns)
        told = {column.name for column in known}
        values = {
            column.name: f"k.{identifier(column.name)}::{column.shown}"
            if column.name in told
            else "NULL"
            for column in self.rows.columns.values()
            if column.name not in self.generated
        }
        columns = ", ".join(map(identifier, values))
        done = self.brief.execute(
            beside_parameters(
                f"INSERT INTO {self.rows.relation.sql} ({columns}) OVERRIDING SYSTEM VALUE "
                f"SELECT {', '.join(values.values())} FROM "
            )
            + f"unnest({arrays}) AS k({names}) ON CONFLICT DO NOTHING",
            lists_of(to_table([action.after or {}], known)),
        )
        if done.rowcount != 1:
            self.demand_absent(action.after or {})
            raise LeftAlone(
                ActionOutcome.REFUSED, "another row of the table has a unique key of it"
            )

    def taken_as(self, action: Action) -> Entry:
        """The row as the table has it now, which must be as it was told."""
        known = self._known(action)
        found = self.find(lock=False)
        names = [column.name for column in known]
        if comparable(found.select(names)) != comparable(to_table([action.after or {}], known)):
            raise LeftAlone(ActionOutcome.REFUSED, "the table makes another row of it")
        return from_table(found, self.rows.shape.columns)[0]

    def demand_untouched(self, left: Entry) -> None:
        """Columns that the catalog does not know must still be NULL."""
        columns = self.rows.shape.columns
        further = self.rows.columns.keys() - set(self.rows.shape.names) - self.generated
        untold = " AND ".join(
            ["true", *(f"pg_catalog.num_nulls(r.{identifier(name)}) = 1" for name in further)]
        )
        found = self.find(lock=False)
        wanted = {column.name: left.get(column.name) for column in columns}
        if comparable(found) != comparable(to_table([wanted], columns)) or not self._asked(untold):
            raise LeftAlone(ActionOutcome.CONFLICT, "the row has changed since")
        children = self.brief.execute(_CASCADING, (self.rows.relation.oid,)).fetchall()
        for child, condition in children:
            if self._asked(f"EXISTS (SELECT FROM {child} AS c WHERE {condition})"):
                raise LeftAlone(ActionOutcome.CONFLICT, f"rows of {child} now refer to it")

    def delete(self) -> None:
        self.brief.execute(
            beside_parameters(f"DELETE FROM {self.rows.relation.sql} AS r WHERE ") + self._is_it,
            lists_of(self.key),
        )

    def _asked(self, condition: str) -> bool:
        """Whether something holds of the row, which is called r."""
        query = beside_parameters(f"SELECT {condition} FROM {self.rows.relation.sql} AS r WHERE ")
        (row,) = self.brief.execute(query + self._is_it, lists_of(self.key)).fetchall()
        return bool(row[0])

    @property
    def _is_it(self) -> str:
        rows = self.rows
        return TableRows(self.table, rows.columns, rows.relation, rows.equalities).among

    def _known(self, action: Action) -> list[Column]:
        """The catalog's columns, but for those that the database computes and nobody told."""
        told = action.lost.columns if action.lost else {}
        return [
            column
            for column in self.rows.shape.columns
            if column.name not in self.generated or column.name in told
        ]
