# SPDX-License-Identifier: Apache-2.0
"""The types of columns in key-value layout: how values are encoded, and which of them there are.

An encoding allows more values than a type has.
"""

import re

from scrub.model.kv import EVERY_VALUE, DatumKind, DatumType, Domain, Rule
from scrub.model.types import INTEGER_BITS, ColumnType, TypeName, parse_type

BINARY = ColumnType(TypeName.BINARY)
_INT64_MAX = (1 << 63) - 1
_DAY_MICROS = 86_400_000_000
# The years 1 to 9999, as for tables of columns: days, and seconds, since 1970.
_DAYS = Domain(Rule.BETWEEN, -719_162, 2_932_896)
_SECONDS = Domain(Rule.BETWEEN, -62_135_596_800, 253_402_300_799)
_ANY_TEXT = Domain(Rule.TEXT, high=_INT64_MAX)
_LENGTH = re.compile(r"varchar\s*\(\s*(\d+)\s*\)")
_OF_SPARK = {
    TypeName.BOOLEAN: DatumKind.BOOL,
    TypeName.FLOAT: DatumKind.FLOAT,
    TypeName.DOUBLE: DatumKind.FLOAT,
    TypeName.DECIMAL: DatumKind.DECIMAL,
    TypeName.STRING: DatumKind.BYTES,
    TypeName.BINARY: DatumKind.BYTES,
    TypeName.DATE: DatumKind.INT,
    TypeName.TIMESTAMP: DatumKind.TIMESTAMP,
    TypeName.TIMESTAMP_NTZ: DatumKind.TIMESTAMP,
}
_OF_THEIR_OWN = {
    "time": DatumType(DatumKind.INT, domain=Domain(Rule.BETWEEN, 0, _DAY_MICROS)),
    "oid": DatumType(DatumKind.INT, domain=Domain(Rule.BETWEEN, 0, (1 << 32) - 1)),
    "name": DatumType(DatumKind.BYTES, domain=_ANY_TEXT),
    "enum": DatumType(DatumKind.BYTES),
    "bytes": DatumType(DatumKind.BYTES),
    "collated string": DatumType(DatumKind.COLLATED, domain=_ANY_TEXT),
    "interval": DatumType(DatumKind.INTERVAL),
    "timetz": DatumType(DatumKind.TIMETZ),
    "uuid": DatumType(DatumKind.UUID),
    "inet": DatumType(DatumKind.INET),
    "bit": DatumType(DatumKind.BIT),
    "varbit": DatumType(DatumKind.BIT),
}


def parse_datum_type(text: str) -> tuple[ColumnType, DatumType]:
    """A type of the catalog: its name in Spark, if it has one, and how its values are encoded."""
    spelling = text.strip().lower()
    if array := re.fullmatch(r"(.+?)\s*\[\]", spelling):
        _, element = parse_datum_type(array[1])
        if element.kind in (DatumKind.ARRAY, DatumKind.COLLATED):
            raise ValueError(f"'{text}': arrays of {array[1]} are not read")
        return BINARY, DatumType(DatumKind.ARRAY, element.kind, element.domain)
    if spelling in _OF_THEIR_OWN:
        return BINARY, _OF_THEIR_OWN[spelling]
    try:
        of_spark = parse_type(spelling)
    except ValueError:
        own = ", ".join(_OF_THEIR_OWN)
        raise ValueError(
            f"'{text}' is not a type; beside Spark's there are {own}, and []"
        ) from None
    kind = _OF_SPARK.get(of_spark.name, DatumKind.INT)
    return of_spark, DatumType(kind, domain=_domain_of(spelling, of_spark))


def _domain_of(spelling: str, of_spark: ColumnType) -> Domain:
    """The values of a type, as the catalog spells it and as Spark knows it."""
    match of_spark.name:
        case TypeName.TINYINT | TypeName.SMALLINT | TypeName.INT as name:
            most = 1 << (INTEGER_BITS[name] - 1)
            return Domain(Rule.BETWEEN, -most, most - 1)
        case TypeName.DATE:
            return _DAYS
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return _SECONDS
        case TypeName.FLOAT:
            return Domain(Rule.SINGLE)
        case TypeName.STRING:
            length = _LENGTH.fullmatch(spelling)
            return Domain(Rule.TEXT, high=int(length[1])) if length else _ANY_TEXT
        case TypeName.DECIMAL if "(" in spelling:
            # Without digits in parentheses, a decimal of CockroachDB has as many as it likes.
            return Domain(Rule.DIGITS, of_spark.precision - of_spark.scale, of_spark.scale)
        case _:
            return EVERY_VALUE
