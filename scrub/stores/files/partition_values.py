# SPDX-License-Identifier: Apache-2.0
"""Partition values: their text in a path or log, and the value it stands for.

Times in that text are read as UTC when they name no zone: that is what Delta writers without a
session, and those of recent Spark, mean by it.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.model.types import ColumnType, TypeName

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?\d+")


class PartitionValueError(ValueError):
    """The text does not stand for a value of the column's type."""


def parse_partition_value(text: str | None, column_type: ColumnType) -> pa.Scalar:
    """The value in the column's Arrow type. Raises PartitionValueError."""
    arrow = to_arrow(column_type)
    if text is None:
        return pa.scalar(None, arrow)
    try:
        return pa.scalar(_parse(text, column_type), arrow)
    except (ValueError, InvalidOperation, OverflowError, pa.ArrowException) as error:
        raise PartitionValueError(f"'{text}' is not a value of type {column_type}") from error


def _parse(text: str, column_type: ColumnType) -> object:
    match column_type.name:
        case TypeName.STRING:
            return text
        case TypeName.BOOLEAN if text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        case TypeName.DECIMAL:
            return Decimal(text)
        case TypeName.FLOAT | TypeName.DOUBLE:
            return float(text)
        case TypeName.DATE:
            return date.fromisoformat(text)
        case TypeName.TIMESTAMP:
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        case TypeName.TIMESTAMP_NTZ:
            return _without_zone(datetime.fromisoformat(text))
        case _ if column_type.is_integer and _INTEGER.fullmatch(text):
            return int(text)
    raise ValueError(text)


def _without_zone(moment: datetime) -> datetime:
    if moment.tzinfo:
        raise ValueError("a zone where there may be none")
    return moment


def partition_text(value: object) -> str | None:
    """The text for a value that a log gives typed; `parse_partition_value` reads it back."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return naive.isoformat(sep=" ")
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return repr(value)
        case _:
            return str(value)


def path_partition(relative_path: str) -> Mapping[str, str | None]:
    """The values that `name=value` directories of a decoded path stand for."""
    values: dict[str, str | None] = {}
    for directory in relative_path.split("/")[:-1]:
        name, equals, value = directory.partition("=")
        if equals:
            values[unquote(name)] = None if value == HIVE_NULL else unquote(value)
    return values
