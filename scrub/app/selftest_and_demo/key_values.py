# SPDX-License-Identifier: Apache-2.0
"""Keys in one form that can be compared, whether they were planted (Arrow) or reported (JSON)."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import Index, Table
from scrub.model.types import ColumnType, TypeName

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectKey:
    """What tells one defect from another: its kind, where it is, and both of its keys."""

    kind: DefectKind
    table: str
    index: str
    primary_key: Key
    index_key: Key


def planted_key(row: pa.Table, columns: Mapping[str, ColumnType]) -> Key:
    """Some columns of a one-row table; ValueError for a time that has no plain spelling."""
    return tuple(_planted(row.column(name)[0], of_type) for name, of_type in columns.items())


def reported_key(defect: Defect, table: Table, index: Index) -> DefectKey:
    """A reported defect's identity; the index has the types of all its columns."""
    of_key = [(column.name, column.type) for column in index.key]
    of_row = [(name, table.column(name).type) for name in table.primary_key]
    return DefectKey(
        kind=defect.kind,
        table=defect.table,
        index=index.name,
        primary_key=_reported_all(defect.primary_key or {}, of_row),
        index_key=_reported_all(defect.index_key or {}, of_key),
    )


def _reported_all(
    values: Mapping[str, Value], columns: Sequence[tuple[str, ColumnType | None]]
) -> Key:
    return tuple(_reported(values.get(name), of_type) for name, of_type in columns)


def _planted(scalar: pa.Scalar, column_type: ColumnType) -> Hashable:
    try:
        value = scalar.as_py()
    except OverflowError as error:
        raise ValueError(str(error)) from error
    match column_type.name:
        case _ if value is None:
            return None
        case TypeName.BINARY:
            return str(value.hex())
        case TypeName.DATE:
            return str(value.isoformat())
        case TypeName.FLOAT | TypeName.DOUBLE:
            return _number(value, column_type)
    hashable: Hashable = value
    return hashable


def _reported(value: Value, column_type: ColumnType | None) -> Hashable:
    if value is None or column_type is None:
        return value
    match column_type.name:
        case TypeName.DECIMAL:
            return Decimal(str(value))
        case TypeName.FLOAT | TypeName.DOUBLE:
            return _number(float(value), column_type)
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return _moment(str(value))
    return value


def _number(value: float, column_type: ColumnType) -> Hashable:
    """A float's value; texts of a 32-bit float are equal when they mean the same one."""
    exact = float(np.float32(value)) if column_type.name is TypeName.FLOAT else value
    return "NaN" if math.isnan(exact) else exact


def _moment(text: str) -> Hashable:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text  # before year 1 or after 9999: nothing is planted there
