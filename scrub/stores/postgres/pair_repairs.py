# SPDX-License-Identifier: Apache-2.0
"""Repairing pairs of bytes in PostgreSQL: as other indexes, where the rows are pairs too."""

from collections.abc import Sequence

from scrub.model.repair import Action
from scrub.model.table import Index, Table
from scrub.stores.entry_states import Values
from scrub.stores.pair_demands import demanded_now, pair_keys, pair_shape, refuse_versions
from scrub.stores.pair_rows import Pair, PairRows
from scrub.stores.postgres.building.briefly import Brief
from scrub.stores.postgres.index_table import IndexTable
from scrub.stores.postgres.repairs import PostgresRepairs


class PostgresPairRepairs(PostgresRepairs):
    """Repairs of tables in key-value layout; tables are given as `pair_table` makes them."""

    def pairs_at(self, table: Table, index: str, keys: Sequence[bytes]) -> list[Pair]:
        relation = table.index(index).relation
        return self._insistently(lambda brief: self._find(brief, relation, keys, lock=False))

    def _expected(
        self, brief: Brief, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[list[Values]]:
        assert table.kv is not None, "only tables in key-value layout come here"
        self._opened(brief, index.relation)

        def read(keys: Sequence[bytes]) -> list[Pair]:
            return self._find(brief, table.relation, keys, lock=True)

        return demanded_now(PairRows(table.kv), index.name, actions, read)

    def _find(
        self, brief: Brief, relation: str, keys: Sequence[bytes], *, lock: bool
    ) -> list[Pair]:
        opened = self._opened(brief, relation)
        found = opened.find(brief, pair_keys(keys), lock=lock).entries
        columns = (found.column(name).to_pylist() for name in opened.shape.names)
        return list(zip(*columns, strict=True))

    def _opened(self, brief: Brief, relation: str) -> IndexTable:
        opened = IndexTable.of(brief, self.schema, pair_shape(relation))
        refuse_versions(relation, opened.columns)
        return opened
