# SPDX-License-Identifier: Apache-2.0
"""Digests of what the catalog says of a table: a defect of another definition is another defect.

What does not change the meaning of a defect is left out: the order of columns, columns beside the
key, the store and the relation.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from scrub.model.constraint import Constraint, ConstraintKind, constraints_of
from scrub.model.table import EntryColumn, Index, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A table as a result or a baseline remembers it: digests, and names of what they are of."""

    table: str
    indexes: Mapping[str, str] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)

    def of(self, index: str | None, constraint: str | None) -> str | None:
        """What a defect of this index or constraint depends on; None if there is no such one."""
        if constraint is not None:
            return self.constraints.get(constraint)
        return self.table if index is None else self.indexes.get(index)

    def as_record(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return {
            "table": self.table,
            "indexes": dict(self.indexes),
            "constraints": dict(self.constraints),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Definition":
        """Raises KeyError, TypeError or ValueError if it is no such record."""
        table, parts = record["table"], [record["indexes"], record["constraints"]]
        texts = [table, *(text for part in parts for text in dict(part).values())]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a definition is no text")
        return cls(table=table, indexes=dict(parts[0]), constraints=dict(parts[1]))


def definition_of(table: Table) -> Definition:
    """What the catalog says of a table now."""
    return Definition(
        table=_digest(_table(table)),
        indexes={index.name: _digest([_table(table), _index(index)]) for index in table.indexes},
        constraints={
            one.name: _digest([_table(table), _constraint(one)]) for one in constraints_of(table)
        },
    )


def _table(table: Table) -> Any:
    key = [[name, str(table.types.get(name))] for name in table.primary_key]
    pairs = None if table.kv is None else asdict(table.kv)
    return {"name": table.name, "key": key, "zone": table.time_zone, "pairs": pairs}


def _index(index: Index) -> Any:
    return {
        "name": index.name,
        "key": [_column(column) for column in index.key],
        "suffix": [_column(column) for column in index.suffix],
        "stored": sorted(_column(column) for column in index.stored),
        "unique": index.unique,
        "where": index.where,
        "nulls": index.nulls,
        "dialect": index.dialect,
        "own": index.relation if index.is_own else None,
    }


def _column(column: EntryColumn) -> list[str]:
    return [column.name, column.source, str(column.type)]


def _constraint(constraint: Constraint) -> Any:
    # Another column that is never NULL leaves what is known of the others as it is.
    columns = () if constraint.kind is ConstraintKind.NOT_NULL else constraint.columns
    return [
        constraint.kind,
        constraint.name,
        list(columns),
        constraint.condition,
        constraint.references,
    ]


def _digest(definition: Any) -> str:
    text = json.dumps(definition, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
