# SPDX-License-Identifier: Apache-2.0
"""Repairing pairs of bytes in PostgreSQL: as other indexes, where the rows are pairs too."""

from collections.abc import Sequence
from functools import partial

from scrub.model.repair import Action
from scrub.model.table import Index, Store, Table
from scrub.stores.entry_states import Values
from scrub.stores.pair_demands import demanded_now, pair_keys, pair_shape, refuse_versions
from scrub.stores.pair_rows import Pair, PairRows
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from scrub.stores.postgres.repairs.index_table import IndexTable


def demands_of_pairs(
    brief: Brief, schema: str, table: Table, index: Index, actions: Sequence[Action]
) -> list[list[Values]]:
    """What the pairs of rows demand of the pairs of an index."""
    assert table.kv is not None, "only tables in key-value layout come here"
    _opened(brief, schema, index.relation)
    read = partial(_find, brief, schema, table.relation, lock=True)
    return demanded_now(PairRows(table.kv), index.name, actions, read)


class PostgresPairRepairs(PostgresRepairs):
    """Repairs of tables in key-value layout; tables are given as `pair_table` makes them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, demands=demands_of_pairs)

    def pairs_at(self, table: Table, index: str, keys: Sequence[bytes]) -> list[Pair]:
        relation = table.index(index).relation
        return self._session.insistently(
            lambda brief: _find(brief, self._schema, relation, keys, lock=False)
        )


def _find(
    brief: Brief, schema: str, relation: str, keys: Sequence[bytes], *, lock: bool
) -> list[Pair]:
    opened = _opened(brief, schema, relation)
    found = opened.find(brief, pair_keys(keys), lock=lock).entries
    columns = (found.column(name).to_pylist() for name in opened.shape.names)
    return list(zip(*columns, strict=True))


def _opened(brief: Brief, schema: str, relation: str) -> IndexTable:
    opened = IndexTable.of(brief, schema, pair_shape(relation))
    refuse_versions(relation, opened.columns)
    return opened
