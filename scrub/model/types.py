# SPDX-License-Identifier: Apache-2.0
"""Column types: Spark's atomic types that have an equality both engines agree on."""

import re
from dataclasses import dataclass
from enum import StrEnum


class TypeName(StrEnum):
    """The names Spark SQL prints; decimals carry their precision beside it."""

    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"  # an instant
    TIMESTAMP_NTZ = "timestamp_ntz"  # a wall-clock reading, in no zone


INTEGER_BITS = {TypeName.TINYINT: 8, TypeName.SMALLINT: 16, TypeName.INT: 32, TypeName.BIGINT: 64}
INTEGERS = tuple(INTEGER_BITS)
_OTHER_SPELLINGS = {
    "bool": TypeName.BOOLEAN,
    "byte": TypeName.TINYINT,
    "short": TypeName.SMALLINT,
    "integer": TypeName.INT,
    "long": TypeName.BIGINT,
    "real": TypeName.FLOAT,
    "dec": TypeName.DECIMAL,
    "numeric": TypeName.DECIMAL,
    "timestamp_ltz": TypeName.TIMESTAMP,
}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_DECIMAL_DIGITS_MAX = 38


@dataclass(frozen=True, slots=True)
class ColumnType:
    """One atomic type; precision and scale are set for decimals only."""

    name: TypeName
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        if self.name is TypeName.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return self.name.value

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS


def parse_type(text: str) -> ColumnType:
    """Read a type as Spark SQL writes it; ValueError says what is accepted."""
    spelling = text.strip().lower()
    if decimal := _DECIMAL.fullmatch(spelling):
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        if not (1 <= precision <= _DECIMAL_DIGITS_MAX and scale <= precision):
            raise ValueError(
                f"decimal({precision},{scale}): precision is 1 to 38, scale at most that"
            )
        return ColumnType(TypeName.DECIMAL, precision, scale)
    if spelling.startswith("varchar"):
        return ColumnType(TypeName.STRING)
    name = _OTHER_SPELLINGS.get(spelling)
    if name is None and spelling in TypeName.__members__.values():
        name = TypeName(spelling)
    if name is None:
        known = ", ".join(t.value for t in TypeName if t is not TypeName.DECIMAL)
        raise ValueError(
            f"'{text}' is not a type that can be compared; use {known} or decimal(p,s)"
        )
    return ColumnType(name)


def widens(stored: ColumnType, wanted: ColumnType) -> bool:
    """Whether every stored value has exactly one equal value of the wanted type."""
    if stored == wanted:
        return True
    if wanted.is_integer:
        return stored.is_integer and INTEGERS.index(stored.name) <= INTEGERS.index(wanted.name)
    if wanted.name is TypeName.DOUBLE:
        return stored.name is TypeName.FLOAT
    if wanted.name is TypeName.DECIMAL:
        whole_digits = wanted.precision - wanted.scale
        if stored.is_integer:
            return whole_digits >= len(str(1 << (INTEGER_BITS[stored.name] - 1)))
        return (
            stored.name is TypeName.DECIMAL
            and wanted.scale >= stored.scale
            and whole_digits >= stored.precision - stored.scale
        )
    return False
