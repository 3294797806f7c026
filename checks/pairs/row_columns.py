# SPDX-License-Identifier: Apache-2.0
"""The columns of decoded rows, and which constraints of a table they can serve.

Some kinds of key-value columns have no type of Spark's that means the same. Their columns are bytes
here: they tell NULL from a value, for some kinds equal values from others, and nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scrub.model.constraint import Constraint, ConstraintKind
from scrub.model.kv import DatumKind, KvColumn, Rule
from scrub.model.table import Column, Table
from scrub.model.types import ColumnType, TypeName

_BINARY = ColumnType(TypeName.BINARY)
_MANY_DIGITS = ColumnType(TypeName.DECIMAL, 38, 18)
"""Of decimals without digits in the catalog, of which CockroachDB's have as many as they like."""
_THEIR_BYTES = (DatumKind.BYTES, DatumKind.UUID, DatumKind.INET)
"""Kinds of binary columns whose bytes are those that any other table has of the value."""
_EQUAL_AS_BYTES = (*_THEIR_BYTES, DatumKind.BIT, DatumKind.TIMETZ, DatumKind.INT)
"""Kinds whose values are equal exactly if their bytes are; an INT in bytes is a time or an oid."""


def as_decoded(table: Table) -> Table:
    """A table whose columns have the types that decoded rows have; others stay as they are."""
    return table if table.kv is None else replace(table, columns=row_columns(table))


def row_columns(table: Table) -> tuple[Column, ...]:
    """The columns of a table's decoded rows: its own, with more digits where it names none."""
    return tuple(
        replace(column, type=_MANY_DIGITS) if has_any_digits(of_pair) else column
        for column, of_pair in _both(table)
    )


def refusal(table: Table, constraint: Constraint, columns: Sequence[str]) -> str | None:
    """Why a constraint that uses these columns cannot be checked on decoded rows, if it cannot."""
    if constraint.kind is ConstraintKind.NOT_NULL:
        return None
    used = [(column, of_pair) for column, of_pair in _both(table) if column.name in columns]
    opaque = [column.name for column, of_pair in used if _is_opaque(column, of_pair, constraint)]
    if opaque:
        these = f"column {opaque[0]}" if len(opaque) == 1 else f"columns {', '.join(opaque)}"
        has = "has a type" if len(opaque) == 1 else "have types"
        return f"{these} of {table.name} {has} that cannot be compared by decoded values"
    return None


def _both(table: Table) -> Iterator[tuple[Column, KvColumn]]:
    assert table.kv is not None, "only tables in key-value layout come here"
    return zip(table.columns, table.kv.columns, strict=True)


def has_any_digits(of_pair: KvColumn) -> bool:
    """Whether it is a decimal that the catalog gives no number of digits."""
    return of_pair.type.kind is DatumKind.DECIMAL and of_pair.type.domain.rule is not Rule.DIGITS


def _is_opaque(column: Column, of_pair: KvColumn, constraint: Constraint) -> bool:
    """Whether the bytes of a column cannot tell what the constraint asks."""
    if column.type != _BINARY:
        return False
    match constraint.kind:
        case ConstraintKind.FOREIGN_KEY:
            return of_pair.type.kind not in _THEIR_BYTES
        case ConstraintKind.UNIQUE | ConstraintKind.PRIMARY_KEY:
            return of_pair.type.kind not in _EQUAL_AS_BYTES
        case _:
            return of_pair.type.kind is not DatumKind.BYTES
