# SPDX-License-Identifier: Apache-2.0
"""The order of an index in SQL: asking for it, and asking whether two entries keep it.

It is asked for with the operators of the index's own operator classes, and judged by their
comparison functions, always under its own collations: these, and not the type's usual ones, say
where an entry belongs.
"""

from collections.abc import Sequence

from scrub.stores.postgres.own_indexes.description import IndexColumn
from scrub.stores.postgres.own_indexes.operator_classes import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    GREATER,
    LESS,
)


def order_by(keys: Sequence[IndexColumn]) -> str:
    """An ORDER BY that a forward scan of the index satisfies without a sort."""
    return ", ".join(_ordered(key) for key in keys)


def _ordered(key: IndexColumn) -> str:
    assert key.order is not None, "keys have an order"
    using = f"USING {key.order.operators[GREATER if key.descending else LESS]}"
    nulls = "FIRST" if key.nulls_first else "LAST"
    return f"{_collated(key, key.expression)} {using} NULLS {nulls}"


def sorts_before(keys: Sequence[IndexColumn], first: Sequence[str], second: Sequence[str]) -> str:
    """Whether the first entry belongs before the second; each is given column by column."""
    text = "false"
    for key, left, right in reversed(list(zip(keys, first, second, strict=True))):
        equal = _equal(key, left, right)
        text = f"({_before(key, left, right)} OR ({equal} AND {text}))"
    return text


def equals(keys: Sequence[IndexColumn], first: Sequence[str], second: Sequence[str]) -> str:
    """Whether two entries have the same place in the order."""
    pairs = zip(keys, first, second, strict=True)
    return " AND ".join(_equal(key, left, right) for key, left, right in pairs)


def is_null(value: str) -> str:
    """Whether a value is NULL; IS NULL would also be true of a record of NULLs."""
    return f"({value} IS NOT DISTINCT FROM NULL)"


def is_key(keys: Sequence[IndexColumn], values: Sequence[str], nulls: Sequence[bool]) -> str:
    """Whether a row has the key of these values, of which some are known to be NULL.

    The last one is asked for as a range. So the order of the rows is still open, and whoever asks
    for it gets this index, even if another one finds the same rows by the first columns.
    """
    *others, last = [
        (key, value, null) for key, value, null in zip(keys, values, nulls, strict=True)
    ]
    parts = [_has(key, value, null) for key, value, null in others]
    key, value, null = last
    if null:
        return " AND ".join([*parts, is_null(key.expression)])
    assert key.order is not None, "keys have an order"
    at = _collated(key, value)
    return " AND ".join(
        [
            *parts,
            f"{key.expression} {key.order.operators[AT_LEAST]} {at}",
            f"{key.expression} {key.order.operators[AT_MOST]} {at}",
        ]
    )


def _has(key: IndexColumn, value: str, null: bool) -> str:
    if null:
        return is_null(key.expression)
    assert key.order is not None, "keys have an order"
    return f"{key.expression} {key.order.operators[EQUAL]} {_collated(key, value)}"


def _before(key: IndexColumn, left: str, right: str) -> str:
    nulls_first = "true" if key.nulls_first else "false"
    sign = ">" if key.descending else "<"
    return (
        f"CASE WHEN {is_null(left)} THEN {nulls_first} AND NOT {is_null(right)} "
        f"WHEN {is_null(right)} THEN NOT {nulls_first} "
        f"ELSE {_compared(key, left, right)} OPERATOR(pg_catalog.{sign}) 0 END"
    )


def _equal(key: IndexColumn, left: str, right: str) -> str:
    return (
        f"CASE WHEN {is_null(left)} THEN {is_null(right)} WHEN {is_null(right)} THEN false "
        f"ELSE {_compared(key, left, right)} OPERATOR(pg_catalog.=) 0 END"
    )


def _compared(key: IndexColumn, left: str, right: str) -> str:
    assert key.order is not None, "keys have an order"
    return f"{key.order.compare}({_collated(key, left)}, {right})"


def _collated(key: IndexColumn, value: str) -> str:
    return f"({value} COLLATE {key.collation})" if key.collation else value
