# SPDX-License-Identifier: Apache-2.0
"""Comparing what the catalog says of each table and index with the relations that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checks.pairs.plan import PAIR
from scrub.app.checking.computed_columns import with_computed_columns
from scrub.app.checking.not_built import not_built
from scrub.app.relations.opening import Opener
from scrub.app.relations.wanted import Wanted, columns_of_entry, columns_of_table
from scrub.catalog import Catalog
from scrub.catalog.lines import CatalogLines
from scrub.errors import AccessDenied, RelationMismatch, RelationMissing, ScrubError
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf, parse_as_of
from scrub.model.table import Column, Index, Table


@dataclass(frozen=True, slots=True)
class Look:
    """Looks at the tables of a catalog, one after the other."""

    catalog: Catalog
    lines: CatalogLines
    opener: Opener

    def at(self, table: Table) -> None:
        """A table, then its indexes. Parents of foreign keys are tables of the catalog, too."""
        if table.kv is not None:
            self._at_pairs(table)
            return
        facts = self._compared(table, table, columns_of_table(table, self.lines))
        if facts is not None:
            self._at_computed(table)
        for index in table.indexes:
            if index.is_own:
                self._at_own_index(table, index)
            else:
                self._at_index(table, index, is_table_there=facts is not None)

    def _at_index(self, table: Table, index: Index, *, is_table_there: bool) -> None:
        wanted = columns_of_entry(table, index, self.lines)
        facts = self._compared(index, table, wanted, may_be_built=is_table_there)
        reflects = index.reflects
        if facts is None or reflects is None:
            return
        line = self.lines.of("tables", table.name, "indexes", index.name, "reflects")
        if reflects.column is not None:
            what = f"`reflects` of index {table.name}.{index.name}"
            self._compare(facts, [Wanted(line=line, name=reflects.column, what=what)])
        elif is_table_there:
            moment = None if reflects.time is None else parse_as_of(reflects.time)
            self._try(line, table, moment or AsOf(version=reflects.version), ())

    def _at_pairs(self, table: Table) -> None:
        """Rows and entries in key-value layout, which may share a relation."""
        places: dict[tuple[str, str], Table | Index] = {}
        holders: list[Table | Index] = [table, *table.indexes]
        for holder in holders:
            places.setdefault((holder.store, holder.relation), holder)
        for holder in places.values():
            line, what = self.lines.of_relation(holder, table), f"table {table.name}"
            hint = "pairs are in columns `key` and `value`, both binary"
            wanted = [
                Wanted(line=line, name=of.name, type=of.type, what=what, hint=hint) for of in PAIR
            ]
            self._compared(holder, table, wanted)

    def _at_own_index(self, table: Table, index: Index) -> None:
        """An index of the database itself: it must be there, and what it is made of readable."""
        from checks.own_indexes.index import find_own_index
        from scrub.stores.postgres.store import PostgresStore

        store = self.opener.stores[table.store]
        if table.store in self.opener.closed or not isinstance(store, PostgresStore):
            return
        line = self.lines.of_relation(index, table)
        try:
            found = find_own_index(store, table, index)
        except RelationMissing:
            return  # the table is not there, which is told already
        except ScrubError as error:
            self._tell(line, error)
            return
        if found.hidden:
            needs = f"{', '.join(found.hidden)} of {table.relation}, which {index.name} needs"
            self._tell(line, AccessDenied(f"no permission to read {needs}", hint=found.grant))

    def _at_computed(self, table: Table) -> None:
        """Expressions that the table's database is to compute: it parses those of each index."""
        plain = len(table.columns)
        for index in table.indexes:
            computed = with_computed_columns(_with_only(table, index)).columns[plain:]
            if computed:
                line = self.lines.of("tables", table.name, "indexes", index.name)
                self._try(line, table, None, computed)

    def _compared(
        self,
        holder: Table | Index,
        table: Table,
        wanted: Sequence[Wanted],
        *,
        may_be_built: bool = False,
    ) -> RelationFacts | None:
        """What holds a table or an index; None if that cannot be told, which the report says."""
        line = self.lines.of_relation(holder, table)
        columns = [Column(name=of.name, type=of.type) for of in wanted if of.type is not None]
        try:
            facts = self.opener.facts(line, holder.store, holder.relation, columns)
        except RelationMissing as error:
            self._tell(line, self._not_built(table, holder, error) if may_be_built else error)
            return None
        except ScrubError as error:
            self._tell(line, error)
            if isinstance(error, AccessDenied | RelationMismatch):
                self._tell_absent(holder, wanted)
            return None
        if facts is not None:
            self._compare(facts, wanted)
        return facts

    def _compare(self, facts: RelationFacts, wanted: Sequence[Wanted]) -> None:
        for column in wanted:
            if (error := column.mismatch(facts)) is not None:
                self._tell(column.line, error)

    def _tell_absent(self, holder: Table | Index, wanted: Sequence[Wanted]) -> None:
        """A column that cannot be read, or compared, hides no column that is not there."""
        try:
            facts = self.opener.pinned(holder.store, holder.relation, None, ())
        except ScrubError:
            return
        self._compare(facts, [column for column in wanted if column.name not in facts.columns])

    def _not_built(
        self, table: Table, holder: Table | Index, missing: RelationMissing
    ) -> RelationMismatch:
        assert isinstance(holder, Index), "tables are not built"
        kinds = {store.name: store.kind for store in self.catalog.stores.values()}
        return not_built(table, holder, missing, kinds, choose=False)

    def _try(self, line: int, table: Table, as_of: AsOf | None, columns: Sequence[Column]) -> None:
        try:
            self.opener.pinned(table.store, table.relation, as_of, columns)
        except ScrubError as error:
            self._tell(line, error)

    def _tell(self, line: int, error: ScrubError) -> None:
        self.opener.report.add(line, error)


def _with_only(table: Table, index: Index) -> Table:
    return replace(table, indexes=(index,))
