# SPDX-License-Identifier: Apache-2.0
"""The values that a column in key-value layout may have; its encoding allows more."""

import re

from scrub.model.kv import EVERY_VALUE, Domain, Rule
from scrub.model.types import ColumnType, TypeName

_INT64_MAX = (1 << 63) - 1
_BITS = {TypeName.TINYINT: 8, TypeName.SMALLINT: 16, TypeName.INT: 32}
_DAY_MICROS = 86_400_000_000
# The years 1 to 9999, as for tables of columns: days, and seconds, since 1970.
_DAYS = Domain(Rule.BETWEEN, -719_162, 2_932_896)
_SECONDS = Domain(Rule.BETWEEN, -62_135_596_800, 253_402_300_799)
_ANY_TEXT = Domain(Rule.TEXT, high=_INT64_MAX)
_OF_THEIR_OWN = {
    "time": Domain(Rule.BETWEEN, 0, _DAY_MICROS),
    "oid": Domain(Rule.BETWEEN, 0, (1 << 32) - 1),
    "name": _ANY_TEXT,
    "collated string": _ANY_TEXT,
}
_LENGTH = re.compile(r"varchar\s*\(\s*(\d+)\s*\)")


def domain_of(spelling: str, of_spark: ColumnType | None) -> Domain:
    """The values of a type, as the catalog spells it and as Spark knows it, if it does."""
    match of_spark.name if of_spark else None:
        case None:
            return _OF_THEIR_OWN.get(spelling, EVERY_VALUE)
        case TypeName.TINYINT | TypeName.SMALLINT | TypeName.INT as name:
            most = 1 << (_BITS[name] - 1)
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
        case TypeName.DECIMAL if of_spark is not None and "(" in spelling:
            # Without digits in parentheses, a decimal of CockroachDB has as many as it likes.
            return Domain(Rule.DIGITS, of_spark.precision - of_spark.scale, of_spark.scale)
        case _:
            return EVERY_VALUE
