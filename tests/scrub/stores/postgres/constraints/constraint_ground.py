# SPDX-License-Identifier: Apache-2.0
"""Relations of a database, and questions about their constraints in the words of a catalog."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scrub.catalog.native_terms import native_condition
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.relation import RelationFacts
from scrub.model.table import Column, Table
from scrub.model.types import parse_type
from scrub.stores.constraints import ConstrainedRows, ConstraintReader, Reference, RowRules
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import store_of
from tests.scrub.stores.sample import no_session


@dataclass(frozen=True)
class Ground:
    """A store whose relations are pinned."""

    store: PostgresStore
    tables: Mapping[str, Table]
    facts: Mapping[str, RelationFacts]

    @property
    def reader(self) -> ConstraintReader:
        return self.store.constraint_reader()

    def terms(self, relation: str, *names: str) -> tuple[ColumnTerm, ...]:
        types = self.tables[relation].types
        return tuple(ColumnTerm(name, types[name]) for name in names)

    def node(self, relation: str, condition: str) -> Node:
        node = native_condition(condition, self.tables[relation])
        assert node is not None, f"{condition} is for Spark only"
        return node

    def rows(self, relation: str = "t", *key: str, where: str | None = None) -> ConstrainedRows:
        """Rows with the primary key that is named, or with the first column for it."""
        names = key or (self.tables[relation].columns[0].name,)
        return ConstrainedRows(
            self.facts[relation],
            self.terms(relation, *names),
            None if where is None else self.node(relation, where),
        )

    def rules(self, relation: str, *checks: str, never_null: Iterable[str] = ()) -> RowRules:
        return RowRules(
            self.terms(relation, *never_null), tuple(self.node(relation, c) for c in checks)
        )

    def reference(
        self,
        columns: str | tuple[str, ...],
        key: str | tuple[str, ...] = "id",
        *,
        child: str = "child",
        parent: str = "parent",
        where: str | None = None,
    ) -> Reference:
        of_child = (columns,) if isinstance(columns, str) else columns
        of_parent = (key,) if isinstance(key, str) else key
        return Reference(
            self.rows(child, where=where),
            self.terms(child, *of_child),
            self.facts[parent],
            self.terms(parent, *of_parent),
        )


@contextmanager
def ground(
    database: Database, options: Mapping[str, str] | None = None, /, **relations: Mapping[str, str]
) -> Iterator[Ground]:
    """Each relation with the types of its columns, as a catalog writes them."""
    store = store_of(database, **(options or {}))
    try:
        tables = {name: _table(name, columns) for name, columns in relations.items()}
        facts = {
            name: store.pin(name, None, no_session, table.columns) for name, table in tables.items()
        }
        yield Ground(store, tables, facts)
    finally:
        store.close()


def _table(name: str, columns: Mapping[str, str]) -> Table:
    described = tuple(Column(name=c, type=parse_type(of)) for c, of in columns.items())
    return Table(
        name=name,
        store="shop",
        relation=name,
        columns=described,
        primary_key=(next(iter(columns)),),
    )


def listed(batches: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    """The rows in one order; NULL comes first."""
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])
