# SPDX-License-Identifier: Apache-2.0
"""An index table in PostgreSQL, opened in a transaction: its entries found and locked.

What is there cannot change once it is locked; what is not there could still be put by somebody
else. A unique index tells if that happened, and then everything is to be judged again; where there
is none, the relation is locked against other writers for the moment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrub.errors import RelationMismatch
from scrub.model.entry_shape import MARK, EntryShape, Tombstones
from scrub.model.journal import Image
from scrub.model.table import Column
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.column_types import ServerColumn, sql_type, value_in
from scrub.stores.postgres.equality import equal, equalities_of, same
from scrub.stores.postgres.quoting import beside_parameters, identifier_beside_parameters
from scrub.stores.postgres.relations import ServerRelation, columns_of, find_relation
from scrub.stores.postgres.repairs.received import received
from scrub.stores.postgres.repairs.whole_rows import exact_texts, image_of, image_sql

_GUARDING = """
    SELECT 1 FROM pg_index i
    WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND NOT EXISTS (
          SELECT FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k(attnum, n)
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
          WHERE k.n <= i.indnkeyatts
            AND (a.attname <> ALL(%s::name[]) OR NOT (a.attnotnull OR {nulls_are_equal})))
"""
_EQUAL_NULLS_VERSION = 150000
PLACE = "t.tableoid::bigint, t.ctid::text"


Place = tuple[int, str]
"""Where a row is: the number of its relation, and its place there."""


@dataclass(frozen=True, slots=True)
class EntriesInTable:
    """Entries that an index table holds: where each row is, if it is marked, and its image."""

    entries: pa.Table
    places: Sequence[Place]
    marks: Sequence[bool] | None
    images: Sequence[Image]  # with all columns; none unless they were asked for


@dataclass(frozen=True, slots=True)
class IndexTable:
    """An index table, as the server describes it."""

    shape: EntryShape
    relation: ServerRelation
    columns: dict[str, ServerColumn]
    equalities: dict[str, str | None]
    is_guarded: bool  # by a unique index, against a second entry of one key

    @classmethod
    def of(cls, brief: Brief, schema: str, shape: EntryShape) -> "IndexTable":
        relation = find_relation(brief.connection, schema, shape.relation)
        columns = columns_of(brief.connection, relation)
        absent = [name for name in shape.names if name not in columns]
        if absent:
            raise RelationMismatch(f"{relation.label} has no column {', '.join(absent)}")
        equalities = equalities_of(brief.connection, relation.oid)
        return cls(shape, relation, columns, equalities, _is_guarded(brief, relation, shape))

    def lock(self, brief: Brief) -> None:
        """Nobody else gives it triggers or constraints now, nor entries if nothing guards it."""
        mode = "ROW EXCLUSIVE" if self.is_guarded else "SHARE ROW EXCLUSIVE"
        brief.execute(f"LOCK TABLE {self.relation.sql} IN {mode} MODE")

    def find(self, brief: Brief, keys: pa.Table, lock: bool, whole: bool = False) -> EntriesInTable:
        """Every entry that may have the identity of one of the keys; `whole` with all columns."""
        locking = " FOR UPDATE OF t" if lock else ""
        by_place: dict[Place, Sequence[Any]] = {}  # two queries may find the same
        for unknown, some in self._by_nulls(keys):
            on = self._matching(unknown)
            arrays, names = arrays_of(self._telling(), self.columns)
            query = (
                f"SELECT {self._selected} FROM {self.sql} AS t "
                f"WHERE EXISTS (SELECT FROM unnest({arrays}) AS k({names}) WHERE {on}){locking}"
            )
            by_place |= {row[:2]: row for row in brief.execute(query, lists_of(some))}
        return self._found(brief, list(by_place.values()), whole)

    def at(self, brief: Brief, places: Sequence[Place]) -> EntriesInTable:
        """What is in some places now, with all columns."""
        rows = brief.execute(self._of_places(self._selected), lists_of_places(places)).fetchall()
        return self._found(brief, rows, whole=True)

    def _of_places(self, selected: str) -> str:
        return (
            f"SELECT {selected} FROM {self.sql} AS t, "
            "unnest(%s::bigint[], %s::tid[]) AS p(relation, place) "
            "WHERE t.tableoid = p.relation AND t.ctid = p.place"
        )

    @property
    def _selected(self) -> str:
        values = [self._value(column) for column in self.shape.columns]
        mark = [f"t.{identifier_beside_parameters(MARK)}"] if self.is_marked else []
        return ", ".join([PLACE, *values, *mark])

    def _found(self, brief: Brief, rows: Sequence[Sequence[Any]], whole: bool) -> EntriesInTable:
        width = len(self.shape.columns)
        places: list[Place] = [(row[0], row[1]) for row in rows]
        return EntriesInTable(
            entries=received([row[2 : 2 + width] for row in rows], self.shape.columns),
            places=places,
            marks=[bool(row[2 + width]) for row in rows] if self.is_marked else None,
            images=self._images(brief, places) if whole and places else [],
        )

    def _images(self, brief: Brief, places: Sequence[Place]) -> list[Image]:
        """By themselves: values are read in the time zone of the catalog, texts in UTC."""
        query = self._of_places(f"{PLACE}, {image_sql('t', self.columns.values())}")
        with exact_texts(brief):
            rows = brief.execute(query, lists_of_places(places)).fetchall()
        there = {(row[0], row[1]): image_of(self.columns, row[2]) for row in rows}
        return [there[place] for place in places]

    @property
    def is_marked(self) -> bool:
        return self.shape.tombstones is Tombstones.MARKED

    def _telling(self) -> tuple[Column, ...]:
        """What finds an entry: in a unique index without NULL, its indexed columns."""
        return self.shape.indexed + self.shape.suffix

    def _by_nulls(self, keys: pa.Table) -> list[tuple[set[str], pa.Table]]:
        """Keys without NULL, which indexes find, and the others, with columns that may be NULL."""
        parts: list[tuple[set[str], pa.Table]] = [
            (set(), keys.select([column.name for column in self._telling()]))
        ]
        for columns in (self.shape.indexed, self.shape.suffix):
            names = {column.name for column in columns}
            parts = [
                half
                for unknown, some in parts
                for half in zip((unknown, unknown | names), _halves(some, names), strict=True)
            ]
        return [(unknown, part) for unknown, part in parts if part.num_rows]

    def _matching(self, unknown: set[str]) -> str:
        is_known = unknown.isdisjoint(column.name for column in self.shape.indexed)
        columns = self.shape.indexed if self.shape.unique and is_known else self._telling()
        return " AND ".join(
            (same if c.name in unknown else equal)(
                f"t.{identifier_beside_parameters(c.name)}",
                beside_parameters(self._equality(c.name)),
                f"k.{identifier_beside_parameters(c.name)}::{self.type_of(c.name)}",
            )
            for c in columns
        )

    def _equality(self, name: str) -> str:
        found = self.equalities.get(name)
        if found is None:
            raise RelationMismatch(
                f"{self.relation.label}: values of column {name} cannot be compared, since their "
                "type has no order",
                hint="index the column as text, with an expression",
            )
        return found

    def _value(self, column: Column) -> str:
        return beside_parameters(value_in("t", self.columns[column.name], column.type))

    def type_of(self, name: str) -> str:
        return beside_parameters(self.columns[name].shown)

    @property
    def sql(self) -> str:
        return beside_parameters(self.relation.sql)


def _halves(keys: pa.Table, names: set[str]) -> tuple[pa.Table, pa.Table]:
    """Keys that have a value in each of the columns, and those that have not."""
    is_null = pa.array([False] * keys.num_rows, pa.bool_())
    for name in names:
        is_null = pc.or_(is_null, keys.column(name).is_null())
    return keys.filter(pc.invert(is_null)), keys.filter(is_null)


def _is_guarded(brief: Brief, relation: ServerRelation, shape: EntryShape) -> bool:
    """Whether a second entry of one key would be refused by a unique index."""
    if shape.unique and any(column.nullable for column in shape.indexed):
        return False  # what identifies an entry depends on the entry
    columns = shape.indexed if shape.unique else shape.indexed + shape.suffix
    has_equal_nulls = brief.connection.info.server_version >= _EQUAL_NULLS_VERSION
    query = _GUARDING.replace(
        "{nulls_are_equal}", "i.indnullsnotdistinct" if has_equal_nulls else "false"
    )
    return brief.execute(query, (relation.oid, [c.name for c in columns])).fetchone() is not None


def arrays_of(columns: Sequence[Column], described: Mapping[str, ServerColumn]) -> tuple[str, str]:
    """Places for lists of values, and what their columns are called.

    Values of an enum arrive as such, by its input function: a cast from text its owner could have
    made himself, and it would call his function.
    """
    arrays = ", ".join(f"%s::{_sent_as(column, described)}[]" for column in columns)
    return arrays, ", ".join(identifier_beside_parameters(column.name) for column in columns)


def _sent_as(column: Column, described: Mapping[str, ServerColumn]) -> str:
    found = described.get(column.name)
    if found is not None and found.is_enum:
        return beside_parameters(found.shown)
    return sql_type(column.type)


def lists_of_places(places: Sequence[Place]) -> list[object]:
    return [[place[0] for place in places], [place[1] for place in places]]


def lists_of(table: pa.Table) -> list[object]:
    return [column.to_pylist() for column in table.columns]
