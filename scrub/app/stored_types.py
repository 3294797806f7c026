# SPDX-License-Identifier: Apache-2.0
"""The types of expressions that the catalog does not give: those of the index's relation.

A check compares such a column in the type that its relation stores. Whoever repairs or follows the
index must write that type, too, and not what an engine makes of the expression.
"""

from contextlib import closing
from dataclasses import replace

from scrub.catalog import Catalog
from scrub.errors import ScrubError
from scrub.model.relation import RelationFacts
from scrub.model.table import Column, Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.open import open_store
from scrub.stores.row_entries import with_types_by


def with_stored_types(catalog: Catalog, table: Table, session: SessionProvider) -> Table:
    """The table with all its indexes so; a relation is opened only if it must tell a type."""
    if table.kv is not None or all(map(_is_typed, table.indexes)):
        return table
    indexes = (with_types_of_relation(catalog, index, session) for index in table.indexes)
    return replace(table, indexes=tuple(indexes))


def with_types_of_relation(catalog: Catalog, index: Index, session: SessionProvider) -> Index:
    """The index with what its relation stores; as it was, if there is no telling."""
    if _is_typed(index):
        return index
    try:
        stored = _described(catalog, index, session).columns
    except ScrubError:
        return index  # whoever needs the relation says what is wrong with it
    return with_types_by(index, lambda column: stored.get(column.name))


def _described(catalog: Catalog, index: Index, session: SessionProvider) -> RelationFacts:
    known = [Column(name=of.name, type=of.type) for of in index.entry if of.type is not None]
    with closing(open_store(catalog.stores[index.store])) as store:
        return store.pin(index.relation, None, session, known)


def _is_typed(index: Index) -> bool:
    return index.is_own or all(column.type is not None for column in index.entry)
