# SPDX-License-Identifier: Apache-2.0
"""The constraints of a table: what the catalog promises of its rows, whichever key says it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from scrub.model.defect import DefectKind
from scrub.model.table import Table

NOT_NULL = "not_null"
PRIMARY_KEY = "primary_key"
RESERVED_NAMES = (NOT_NULL, PRIMARY_KEY)
"""Names of constraints that a table has without naming them."""


class ConstraintKind(StrEnum):
    """What sort of promise it is; the strings appear in plans."""

    NOT_NULL = "not null"
    CHECK = "check"
    UNIQUE = "unique"
    PRIMARY_KEY = "primary key"
    FOREIGN_KEY = "foreign key"


DEFECT_KINDS = {
    ConstraintKind.NOT_NULL: DefectKind.NULL_VIOLATION,
    ConstraintKind.CHECK: DefectKind.CHECK_VIOLATION,
    ConstraintKind.UNIQUE: DefectKind.UNIQUE_VIOLATION,
    ConstraintKind.PRIMARY_KEY: DefectKind.DUPLICATE_KEY,
    ConstraintKind.FOREIGN_KEY: DefectKind.FOREIGN_KEY_VIOLATION,
}
"""The kind of defect that a violation is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One promise about a table's rows; its name is unique within the table."""

    kind: ConstraintKind
    name: str
    columns: tuple[str, ...] = ()  # of the key, or those that are never NULL; none for a CHECK
    condition: str | None = None  # of a CHECK
    references: str | None = None  # the table that a foreign key refers to

    @property
    def is_of_keys(self) -> bool:
        """Whether a row alone cannot tell: it takes other rows, or another table."""
        return self.kind in (
            ConstraintKind.UNIQUE,
            ConstraintKind.PRIMARY_KEY,
            ConstraintKind.FOREIGN_KEY,
        )


def constraints_of(table: Table) -> tuple[Constraint, ...]:
    """Every constraint of a table, in the order in which they are reported."""
    return tuple(_constraints(table))


def declares_constraints(table: Table) -> bool:
    """Whether the catalog promises more of the rows than that they have a key."""
    declared = table.checks or table.unique or table.foreign_keys
    return bool(declared) or any(
        not column.nullable and column.name not in table.primary_key for column in table.columns
    )


def _constraints(table: Table) -> Iterator[Constraint]:
    never_null = tuple(
        column.name
        for column in table.columns
        if column.computed is None and (not column.nullable or column.name in table.primary_key)
    )
    yield Constraint(kind=ConstraintKind.NOT_NULL, name=NOT_NULL, columns=never_null)
    for name, condition in table.checks.items():
        yield Constraint(kind=ConstraintKind.CHECK, name=name, condition=condition)
    yield Constraint(kind=ConstraintKind.PRIMARY_KEY, name=PRIMARY_KEY, columns=table.primary_key)
    for key in table.unique:
        yield Constraint(kind=ConstraintKind.UNIQUE, name=key.name, columns=key.columns)
    for of_key in table.foreign_keys:
        yield Constraint(
            kind=ConstraintKind.FOREIGN_KEY,
            name=of_key.name,
            columns=of_key.columns,
            references=of_key.references,
        )
