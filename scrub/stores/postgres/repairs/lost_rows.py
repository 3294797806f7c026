# SPDX-License-Identifier: Apache-2.0
"""What PostgreSQL says of rows that were lost: whether they could be there, and what would follow.

Only read. Each index is read through once, because nothing finds entries by primary key alone.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action, Entry
from scrub.model.table import Index, Table
from scrub.stores.entry_states import Values, comparable, identity
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.column_types import ServerColumn, sql_type
from scrub.stores.postgres.connections import PIN_PATH_LOCALLY, Connection
from scrub.stores.postgres.entry_sql import EntrySql, entry_sql
from scrub.stores.postgres.equality import equal
from scrub.stores.postgres.quoting import beside_parameters, identifier
from scrub.stores.postgres.relations import (
    PARTITIONED,
    TABLE,
    ServerRelation,
    columns_of,
    find_relation,
)
from scrub.stores.postgres.repairs.index_table import IndexTable, arrays_of, lists_of
from scrub.stores.postgres.repairs.received import received
from scrub.stores.postgres.repairs.row_demands import entry_values
from scrub.stores.postgres.repairs.table_rows import key_columns
from scrub.stores.recovering import (
    BY_HAND,
    IndexView,
    by_key_shape,
    kept_indexes,
    key_names,
    settled,
    telling,
)
from scrub.stores.repairing import Reason

_READING_SECONDS = 24 * 3600.0
_GENERATED = "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attgenerated <> ''"


def generated_columns(connection: Connection, relation: ServerRelation) -> frozenset[str]:
    """Columns that the database computes from others."""
    return frozenset(row[0] for row in connection.execute(_GENERATED, (relation.oid,)))


def settle_rows(
    connection: Connection, schema: str, table: Table, actions: Sequence[Action]
) -> list[Action | Reason]:
    """Each recovery with the entries that go with it, or why there is none."""
    with connection.transaction():
        connection.execute(PIN_PATH_LOCALLY)
        brief = Brief(connection, time.monotonic() + _READING_SECONDS)
        relation = find_relation(connection, schema, table.relation)
        described = columns_of(connection, relation)
        generated = generated_columns(connection, relation)
        look = _Look(brief, schema, table, relation, described, generated)
        hindrances = [look.hindrance(action) for action in actions]
        free = [a for a, why in zip(actions, hindrances, strict=True) if why is None]
        written = [name for name in look.described if name not in look.generated]
        told = [telling(action, written) for action in free]
        judged = iter(settled(table, told, look.views(told)) if told else [])
        return [next(judged) if why is None else why for why in hindrances]


@dataclass(frozen=True, slots=True)
class _Look:
    brief: Brief
    schema: str
    table: Table
    relation: ServerRelation
    described: Mapping[str, ServerColumn]
    generated: frozenset[str]

    def hindrance(self, action: Action) -> Reason | None:
        """What the table itself has against a row."""
        if self.relation.kind not in (TABLE, PARTITIONED):
            return f"{self.relation.label} is no table", "put the row back where it is kept"
        if self.relation.is_filtered:
            return (
                f"policies hide rows of {self.relation.label} from this role, and the row may be "
                "one of them",
                "repair with a role that sees all rows",
            )
        told = action.lost.columns if action.lost else {}
        unknown = [
            column.name
            for column in self.described.values()
            if column.not_null and column.name not in self.generated and column.name not in told
        ]
        if unknown:
            return (
                f"no index holds the row's {', '.join(unknown)}, which {self.relation.label} never "
                "lets be NULL",
                BY_HAND,
            )
        return None

    def views(self, actions: Sequence[Action]) -> dict[str, IndexView]:
        return {index.name: self._view(index, actions) for index in kept_indexes(self.table)}

    def _view(self, index: Index, actions: Sequence[Action]) -> IndexView:
        shape = shape_of(self.table, index)
        entry = entry_sql(self.brief.connection, self.schema, self.table, index)
        demanded = self._demanded(entry, shape, actions)
        return IndexView(
            shape=shape,
            demanded=demanded,
            held=self._held(index, shape, actions),
            taken=self._taken(index, entry, shape, demanded),
        )

    def _demanded(
        self, entry: EntrySql, shape: EntryShape, actions: Sequence[Action]
    ) -> list[Entry | None]:
        """What the server would make of such rows."""
        columns = self.table.columns
        arrays, names = arrays_of(columns, self.described)
        known = {column.name for column in columns}
        made = ", ".join(
            f"{f'k.{identifier(c.name)}' if c.name in known else 'NULL'}::{c.shown} "
            f"AS {identifier(c.name)}"
            for c in self.described.values()
        )
        values = ", ".join(entry_values(entry, shape, self.described))
        rows = self.brief.execute(
            beside_parameters(
                f"SELECT {entry.covered}, {values} FROM (SELECT k.scrub_number, {made} FROM "
            )
            + f"unnest({arrays}) WITH ORDINALITY AS k({names}, scrub_number)) AS r "
            "ORDER BY scrub_number",
            lists_of(to_table([action.after or {} for action in actions], columns)),
        ).fetchall()
        entries = from_table(received([row[1:] for row in rows], shape.columns), shape.columns)
        return [e if row[0] else None for row, e in zip(rows, entries, strict=True)]

    def _held(
        self, index: Index, shape: EntryShape, actions: Sequence[Action]
    ) -> list[list[Values]]:
        by_key = by_key_shape(self.table, index, shape)
        keys = to_table([action.primary_key or {} for action in actions], key_columns(self.table))
        keys = keys.rename_columns(key_names(self.table, index))
        relation = IndexTable.of(self.brief, self.schema, by_key)
        found = relation.find(self.brief, keys, lock=False).entries
        of_keys: dict[Values, list[Values]] = {}
        names = [column.name for column in by_key.indexed]
        entries = comparable(found.select(list(shape.names)))
        for key, values in zip(comparable(found.select(names)), entries, strict=True):
            of_keys.setdefault(key, []).append(values)
        return [of_keys.get(key, []) for key in comparable(keys)]

    def _taken(
        self, index: Index, entry: EntrySql, shape: EntryShape, demanded: Sequence[Entry | None]
    ) -> list[bool]:
        """Whether an entry or a row that is there has the place of one in a unique index."""
        due = to_table([one for one in demanded if one is not None], shape.columns)
        if not index.unique or not due.num_rows:
            return [False] * len(demanded)
        relation = IndexTable.of(self.brief, self.schema, shape)
        others = comparable(relation.find(self.brief, due, lock=False).entries)
        places = {identity(shape, v) for v in set(others) - set(comparable(due))}
        places |= self._keys_of_rows(entry, shape, due)
        wanted = iter(identity(shape, values) for values in comparable(due))
        return [one is not None and next(wanted) in places for one in demanded]

    def _keys_of_rows(self, entry: EntrySql, shape: EntryShape, due: pa.Table) -> set[Values]:
        """Those of the given keys that rows of the table have."""
        values = entry_values(entry, shape, self.described)[: len(shape.indexed)]
        arrays = ", ".join(f"%s::{sql_type(c.type)}[]" for c in shape.indexed)
        names = [f"scrub_{number}" for number in range(len(shape.indexed))]
        same = " AND ".join(
            equal(f"({v})", "OPERATOR(pg_catalog.=)", f"k.{n}")  # of the catalog's types
            for v, n in zip(values, names, strict=True)
        )
        keys = due.select([column.name for column in shape.indexed])
        rows = self.brief.execute(
            beside_parameters(
                f"SELECT {', '.join(values)} FROM {self.relation.sql} AS r "
                f"WHERE {entry.covered} AND EXISTS (SELECT FROM "
            )
            + f"unnest({arrays}) AS k({', '.join(names)}) WHERE {beside_parameters(same)})",
            lists_of(keys),
        ).fetchall()
        return set(comparable(received(rows, shape.indexed)))
