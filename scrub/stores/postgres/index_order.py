# SPDX-License-Identifier: Apache-2.0
"""The order of an index in SQL: asking for it, and asking whether two entries keep it.

Both use the operators of the index's own operator classes and its own collations, since these, and
not the type's usual ones, say where an entry belongs.
"""

from collections.abc import Sequence

from scrub.stores.postgres.index_description import IndexColumn


def order_by(keys: Sequence[IndexColumn]) -> str:
    """An ORDER BY that a forward scan of the index satisfies without a sort."""
    return ", ".join(_ordered(key) for key in keys)


def _ordered(key: IndexColumn) -> str:
    assert key.operators is not None, "an index without them is not read"
    less, _, greater = key.operators
    using = f"USING {greater if key.descending else less}"
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


def _before(key: IndexColumn, left: str, right: str) -> str:
    assert key.operators is not None, "an index without them is not read"
    less, _, greater = key.operators
    nulls_first = "true" if key.nulls_first else "false"
    return (
        f"CASE WHEN {is_null(left)} THEN {nulls_first} AND NOT {is_null(right)} "
        f"WHEN {is_null(right)} THEN NOT {nulls_first} "
        f"ELSE {_collated(key, left)} {greater if key.descending else less} {right} END"
    )


def _equal(key: IndexColumn, left: str, right: str) -> str:
    assert key.operators is not None, "an index without them is not read"
    return (
        f"CASE WHEN {is_null(left)} THEN {is_null(right)} WHEN {is_null(right)} THEN false "
        f"ELSE {_collated(key, left)} {key.operators[1]} {right} END"
    )


def _collated(key: IndexColumn, value: str) -> str:
    return f"({value} COLLATE {key.collation})" if key.collation else value
