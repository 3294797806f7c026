# SPDX-License-Identifier: Apache-2.0
"""The columns of decoded rows, and which constraints of a table they can serve.

Some kinds of key-value columns have no type of Spark's that means the same. Their columns are bytes
here: they tell NULL from a value, for some kinds equal values from others, and nothing else.
"""

from collections.abc import Iterator, Sequence

from scrub.model.constraint import Constraint, ConstraintKind
from scrub.model.kv import DatumKind, KvColumn, Rule
from scrub.model.table import Column, Table
from scrub.model.types import ColumnType, TypeName

_BINARY = ColumnType(TypeName.BINARY)
_EQUAL_AS_BYTES = (
    DatumKind.UUID,
    DatumKind.INET,
    DatumKind.BIT,
    DatumKind.TIMETZ,
    DatumKind.INT,  # a time, or an oid
)
"""Kinds without a type of Spark's, whose values are equal exactly if their bytes are."""


def row_columns(table: Table) -> tuple[Column, ...]:
    """The columns of a table's decoded rows: its own, in the catalog's types where they serve."""
    return tuple(
        column if _has_type(of_pair, column) else Column(name=column.name, type=_BINARY)
        for column, of_pair in _both(table)
    )


def refusal(table: Table, constraint: Constraint, columns: Sequence[str]) -> str | None:
    """Why a constraint that uses these columns cannot be checked on decoded rows, if it cannot."""
    if constraint.kind is ConstraintKind.NOT_NULL:
        return None
    refused = [
        column.name
        for column, of_pair in _both(table)
        if column.name in columns
        and not _has_type(of_pair, column)
        and not (constraint.is_of_keys and of_pair.type.kind in _EQUAL_AS_BYTES)
    ]
    if not refused:
        return None
    these = f"column {refused[0]} is" if len(refused) == 1 else f"columns {', '.join(refused)} are"
    return (
        f"{constraint.name} cannot be checked: {these} of a type that Spark has no equal of, "
        "so decoded values cannot be compared"
    )


def _both(table: Table) -> Iterator[tuple[Column, KvColumn]]:
    assert table.kv is not None, "only tables in key-value layout come here"
    return zip(table.columns, table.kv.columns, strict=True)


def _has_type(of_pair: KvColumn, column: Column) -> bool:
    """Whether the catalog's type of a column has every value that its pairs can hold."""
    match of_pair.type.kind:
        case DatumKind.BOOL | DatumKind.FLOAT | DatumKind.BYTES | DatumKind.TIMESTAMP:
            return True
        case DatumKind.INT:
            return column.type != _BINARY
        case DatumKind.DECIMAL:
            # Without digits in the catalog, CockroachDB's decimals have as many as they like.
            return of_pair.type.domain.rule is Rule.DIGITS
        case _:
            return False
