# SPDX-License-Identifier: Apache-2.0
"""Rows of a PostgreSQL table, looked up by their primary keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scrub.model.table import Column, Table
from scrub.stores.entry_states import Values, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.column_types import ServerColumn, value_in
from scrub.stores.postgres.equality import equal, equalities_of
from scrub.stores.postgres.quoting import beside_parameters, identifier
from scrub.stores.postgres.relations import ServerRelation, columns_of, find_relation
from scrub.stores.postgres.repairs.index_table import arrays_of, lists_of
from scrub.stores.postgres.repairs.received import received


def key_columns(table: Table) -> tuple[Column, ...]:
    return tuple(table.column(name) for name in table.primary_key)


@dataclass(frozen=True, slots=True)
class TableRows:
    """A table as the server describes it."""

    table: Table
    described: Mapping[str, ServerColumn]
    relation: ServerRelation
    equalities: Mapping[str, str | None]

    @classmethod
    def of(cls, brief: Brief, schema: str, table: Table) -> "TableRows":
        relation = find_relation(brief.connection, schema, table.relation)
        described = columns_of(brief.connection, relation)
        return cls(table, described, relation, equalities_of(brief.connection, relation.oid))

    @property
    def key(self) -> list[str]:
        """The primary key of a row, called r, in the catalog's types."""
        return [value_in("r", self.described[c.name], c.type) for c in key_columns(self.table)]

    def select(
        self,
        brief: Brief,
        values: Sequence[str],
        keys: pa.Table,
        *,
        condition: str = "",
        locking: str = "",
    ) -> list[Sequence[Any]]:
        """Values of the rows, called r, that have one of the keys."""
        only = f"{condition} AND " if condition else ""
        found: list[Sequence[Any]] = brief.execute(
            beside_parameters(f"SELECT {', '.join(values)} FROM {self.relation.sql} AS r ")
            + f"WHERE {beside_parameters(only)}{self.among}{locking}",
            lists_of(keys),
        ).fetchall()
        return found

    def keys_there(self, brief: Brief, keys: pa.Table, condition: str = "") -> list[Values]:
        """Those of the keys that rows have."""
        rows = self.select(brief, self.key, keys, condition=condition)
        return comparable(received(rows, key_columns(self.table)))

    @property
    def among(self) -> str:
        """Whether a row, called r, has one of the keys, which are given as lists."""
        columns = key_columns(self.table)
        arrays, names = arrays_of(columns, self.described)
        same = beside_parameters(
            " AND ".join(
                equal(
                    f"r.{identifier(c.name)}",
                    self.equalities[c.name] or "OPERATOR(pg_catalog.=)",
                    f"k.{identifier(c.name)}::{self.described[c.name].shown}",
                )
                for c in columns
            )
        )
        return f"EXISTS (SELECT FROM unnest({arrays}) AS k({names}) WHERE {same})"
