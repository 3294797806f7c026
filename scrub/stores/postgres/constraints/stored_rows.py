# SPDX-License-Identifier: Apache-2.0
"""The rows of a relation as they are stored, whatever the server believes of them.

The planner trusts what the database declares: for a NOT NULL column it takes IS NULL for false, it
skips partitions whose CHECK contradicts a condition, and it groups by a primary key alone. That is
exactly what is to be verified. So values are read in a subquery with OFFSET 0, which the planner
neither merges with the query around it nor pushes conditions into. Outside of it, they are values
of which nothing is declared. Indexes are not read either: a damaged one lacks rows.
"""

from collections.abc import Iterable, Mapping

from scrub.errors import StoreUnavailable
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.types import TypeName
from scrub.stores.postgres.expressions import to_sql
from scrub.stores.postgres.pinned import PinnedRelation

READ_STORED_ROWS = (
    "SET LOCAL enable_seqscan = on",
    "SET LOCAL enable_indexscan = off",
    "SET LOCAL enable_indexonlyscan = off",
    "SET LOCAL enable_bitmapscan = off",
    # For tables that were never analysed the planner might choose one, which takes for ever.
    "SET LOCAL enable_nestloop = off",
)
"""Settings of a transaction in which such rows are read."""


class StoredRows:
    """Reads the values that a query asks for by `value`, each of them once."""

    def __init__(
        self, relation: PinnedRelation, where: Node | None = None, *, rest: str | None = None
    ) -> None:
        self._relation, self._rest = relation, rest
        self._names: dict[ColumnTerm, str] = {}
        self._conditions = [] if where is None else [self.value(where)]

    def value(self, node: Node) -> str:
        """An expression over the values read."""
        return to_sql(node, self._named)

    def select(self, values: Mapping[str, str], *conditions: str) -> str:
        """A query for expressions by their names; those given are true of each row."""
        listed = ", ".join(f"{value} AS {name}" for name, value in values.items())
        where = " AND ".join([*self._conditions, *conditions])
        return f"SELECT {listed} FROM ({self._read()}) AS v{f' WHERE {where}' if where else ''}"

    def select_known(self, values: Mapping[str, str], never_null: Iterable[str]) -> str:
        """The same of rows in which none of these expressions is NULL."""
        return self.select(values, *(f"{value} IS NOT NULL" for value in never_null))

    def _named(self, term: ColumnTerm) -> str:
        return self._names.setdefault(term, f"v{len(self._names)}")

    def _read(self) -> str:
        values = ", ".join(f"{self._stored(term)} AS {name}" for term, name in self._names.items())
        rest = f" WHERE {self._rest}" if self._rest else ""
        return f"SELECT {values} FROM {self._relation.sql}{rest} OFFSET 0"

    def _stored(self, term: ColumnTerm) -> str:
        relation = self._relation
        if term.name not in relation.columns and term.name not in relation.computed:
            raise StoreUnavailable(f"{relation.sql} has no column {term.name}")
        # Strings are equal if their bytes are, and ordered by them.
        collate = ' COLLATE "C"' if term.type.name is TypeName.STRING else ""
        return f"{relation.value(term)}{collate}"
