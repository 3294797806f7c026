# SPDX-License-Identifier: Apache-2.0
"""Searching an index for the rows of its table, as a query with a condition does.

This compares values of expressions that no index-only scan returns: a search compares the wanted
key with what the index holds, not with what the row produces. Each distinct key of the rows is
searched for once, and rows found with another key are dropped. So every row is found exactly once
unless the index holds something else for it.
"""

from collections.abc import Sequence

from scrub.stores.postgres.own_indexes.order import is_key, is_null, order_by
from scrub.stores.postgres.own_indexes.plan_proof import Demand, Way
from scrub.stores.postgres.own_indexes.readings import IndexReadings

# No table can be called so without quotes, and none with them has a reason to.
_WANTED = '"scrub: wanted"'

SEARCH_SETTINGS = {
    "enable_seqscan": "off",
    "enable_indexonlyscan": "off",
    "enable_tidscan": "off",
    "enable_nestloop": "on",
    "enable_memoize": "off",
    "enable_material": "off",
}
"""What makes the planner search: the rows themselves can be read in one way only."""


def demand(readings: IndexReadings, *ways: Way) -> Demand:
    return Demand(
        table=readings.index.table_name, index=readings.index.name, ways=ways, is_search=True
    )


def patterns(readings: IndexReadings, keys: int) -> str:
    """Which of the first keys are NULL, each combination that rows have once."""
    nulls = ", ".join(is_null(name) for name in readings.names[:keys])
    return f"SELECT DISTINCT ARRAY[{nulls}] FROM ({readings.reading(Way.ROWS)}) AS s"


def found_totals(readings: IndexReadings, nulls: Sequence[bool]) -> str:
    """How many rows are found, and the sums of their digests."""
    sums = ", ".join(readings.sums("r"))
    return f"SELECT count(*), {sums} FROM ({_found(readings, nulls)}) AS s"


def rows_not_found(readings: IndexReadings, nulls: Sequence[bool]) -> str:
    """Where the rows lie that are not found."""
    return f"""
        SELECT h.r::text FROM ({_rows(readings, nulls)}) AS h
        LEFT JOIN ({_found(readings, nulls)}) AS p ON h.r OPERATOR(pg_catalog.=) p.r
        WHERE p.r IS NULL
    """


def _rows(readings: IndexReadings, nulls: Sequence[bool]) -> str:
    """The rows with such keys; outside, so that no index is asked for them."""
    names = readings.names[: len(nulls)]
    having = (f"{'' if null else 'NOT '}{is_null(n)}" for n, null in zip(names, nulls, strict=True))
    rows = f"{readings.reading(Way.ROWS)} OFFSET 0"
    return f"SELECT * FROM ({rows}) AS s WHERE {' AND '.join(having)}"


def _found(readings: IndexReadings, nulls: Sequence[bool]) -> str:
    index, count = readings.index, len(nulls)
    keys, names = index.keys[:count], readings.names[:count]
    value = readings.digest_of(range(count))
    wanted = f"SELECT {value} AS d, {', '.join(names)} FROM ({_rows(readings, nulls)}) AS s"
    condition = is_key(keys, [f"{_WANTED}.{name}" for name in names], nulls)
    searched = f"{readings.selected()} WHERE {condition}"
    if index.predicate:
        searched += f" AND {index.predicate}"
    if readings.can_ask_for(Way.POINTERS, count - 1):
        searched += f" ORDER BY {order_by(keys[-1:])}"
    return f"""
        SELECT found.* FROM (
            SELECT DISTINCT ON (d) * FROM ({wanted}) AS s ORDER BY d) AS {_WANTED}
        CROSS JOIN LATERAL (SELECT s.*, {value} AS of_row FROM ({searched} OFFSET 0) AS s) AS found
        WHERE found.of_row OPERATOR(pg_catalog.=) {_WANTED}.d
    """
