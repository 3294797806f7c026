# SPDX-License-Identifier: Apache-2.0
"""The queries that find single differences after the sums of two readings differ.

Each returns one row per difference, or streams in constant memory, so that they also work on an
index that is completely wrong.
"""

from collections.abc import Mapping, Sequence

from scrub.stores.postgres.column_types import output_text
from scrub.stores.postgres.own_indexes.description import IndexColumn
from scrub.stores.postgres.own_indexes.order import order_by
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.readings import BUCKETS, IndexReadings, digest
from scrub.stores.postgres.quoting import identifier, literal


def buckets(readings: IndexReadings, way: Way) -> str:
    """For each bucket of rows, how many a reading has and the sum of their digests."""
    reading = f"SELECT r FROM ({readings.reading(way)}) AS s"
    sums = ["count(*)", *(f"sum({digest(['r'], seed)})" for seed in readings.seeds)]
    return f"SELECT {readings.bucket('r')}, {', '.join(sums)} FROM ({reading}) AS s GROUP BY 1"


def rows_not_once(readings: IndexReadings, differing: Sequence[int]) -> str:
    """Rows with no pointer or several, and rows with a pointer that should have none.

    Each with whether the table has it, the number of pointers, and the digest of its entry.
    """
    some = None
    if 2 * len(differing) < BUCKETS:
        listed = ", ".join(map(str, differing))
        some = f"{readings.bucket('ctid')} = ANY('{{{listed}}}'::bigint[])"
    value = readings.digest()
    return f"""
        SELECT coalesce(h.r, p.r)::text, h.r IS NOT NULL, coalesce(p.pointers, 0),
               coalesce(h.d, p.d)
        FROM (SELECT r, {value} AS d FROM ({readings.reading(Way.ROWS, some)}) AS s) AS h
        FULL JOIN (SELECT r, count(*) AS pointers, min({value}) AS d
                   FROM ({readings.reading(Way.POINTERS, some)}) AS s GROUP BY r) AS p ON h.r = p.r
        WHERE h.r IS NULL OR p.pointers IS DISTINCT FROM 1
    """


def entries_and_rows(readings: IndexReadings) -> str:
    """Digests with different numbers of entries and rows, the difference, and one such entry."""
    told = _texts_of(readings)
    return f"""
        SELECT coalesce(e.d, h.d), coalesce(e.copies, 0) - coalesce(h.copies, 0), e.told, h.used
        FROM ({_counted(readings, Way.ENTRIES, f"min({told}) AS told")}) AS e
        FULL JOIN ({_counted(readings, Way.ROWS)}) AS h ON e.d = h.d
        WHERE e.copies IS DISTINCT FROM h.copies
    """


def entries_and_pointers(readings: IndexReadings) -> str:
    """Digests with more entries than rows they lead to, and the difference."""
    return f"""
        SELECT e.d, e.copies - coalesce(p.copies, 0), p.used
        FROM ({_counted(readings, Way.ENTRIES)}) AS e
        LEFT JOIN ({_counted(readings, Way.POINTERS)}) AS p ON e.d = p.d
        WHERE e.copies > coalesce(p.copies, 0)
    """


def _counted(readings: IndexReadings, way: Way, *more: str) -> str:
    """How often each digest is among a reading."""
    value = readings.digest()
    # Rows are used, or the planner would see that an index-only scan tells as much.
    used = [] if way is Way.ENTRIES else ["min(r)::text AS used"]
    listed = ", ".join([f"{value} AS d", "count(*) AS copies", *more, *used])
    return f"SELECT {listed} FROM ({readings.reading(way)}) AS s GROUP BY 1"


def entries_in_order(readings: IndexReadings) -> str:
    """Digests of each entry and of its key, and what it holds as text."""
    return f"SELECT {', '.join(_told(readings))} FROM ({readings.reading(Way.ENTRIES)}) AS s"


def pointers_in_order(readings: IndexReadings) -> str:
    """The same digests of each row that an entry leads to, and where it lies."""
    values = [*_told(readings)[:2], "r::text"]
    return f"SELECT {', '.join(values)} FROM ({readings.reading(Way.POINTERS)}) AS s"


def _told(readings: IndexReadings) -> list[str]:
    return [readings.digest(), readings.key_digest(), _texts_of(readings)]


def misplaced_entries(readings: IndexReadings, way: Way, count: int) -> str:
    """Some entries that belong before the one before them: both, as text, and the row if known."""
    keys = readings.index.keys
    row = "r::text" if readings.has_places(way) else "NULL"
    before = [f"p{number}" for number in range(len(keys))]
    return f"""
        SELECT {row}, {_texts_of(readings)}, {_texts(keys, before)}
        FROM ({readings.walked(way)}) AS s WHERE {readings.misplaced} LIMIT {count}
    """


def contents_buckets(readings: IndexReadings, way: Way) -> str:
    """For each bucket of contents, how often a reading has one and the sum of their digests."""
    sums = f"count(*), sum(d), sum({digest(['d'], readings.seeds[1])})"
    return f"SELECT d & {BUCKETS - 1}, {sums} FROM ({_digests(readings, way)}) AS s GROUP BY 1"


def contents(readings: IndexReadings, way: Way, differing: Sequence[int]) -> str:
    """The contents of some buckets: their digest, how often there are, their key's, and as text."""
    listed = ", ".join(map(str, differing))
    return f"""
        SELECT d, count(*), min(k), min(told) FROM ({_digests(readings, way)}) AS s
        WHERE (d & {BUCKETS - 1}) = ANY('{{{listed}}}'::bigint[]) GROUP BY 1
    """


def _digests(readings: IndexReadings, way: Way) -> str:
    value, told = readings.digest(), _texts_of(readings)
    key = readings.key_digest()
    return f"SELECT {value} AS d, {key} AS k, {told} AS told FROM ({readings.reading(way)}) AS s"


def _texts_of(readings: IndexReadings) -> str:
    return _texts(readings.index.columns, readings.names)


def clashing(readings: IndexReadings, way: Way) -> str:
    """Rows or entries whose key another one has: where rows lie, and their texts.

    Rows are sorted by the index's operators: what is equal for a type need not be for the index.
    Entries of an index that is in order come so.
    """
    keys, names = readings.index.keys, readings.key_names
    near = [
        f"{side}({name}) OVER () AS {side}{n}"
        for side in ("lag", "lead")
        for n, name in enumerate(names)
    ]
    ordered = readings.reading(way)
    if way is Way.ROWS:
        ordered += f" ORDER BY {order_by(keys)}"
    ends = "lag(true) OVER () AS is_after, lead(true) OVER () AS is_before"
    before, behind = (
        readings.clashing([f"{side}{n}" for n in range(len(names))]) for side in ("lag", "lead")
    )
    row = "r::text" if readings.has_places(way) else "NULL"
    return f"""
        SELECT {row}, {_texts_of(readings)}
        FROM (SELECT s.*, {ends}, {", ".join(near)} FROM ({ordered}) AS s) AS s
        WHERE (is_after AND {before}) OR (is_before AND {behind})
    """


def values_at(readings: IndexReadings, primary_key: Mapping[str, str], rows: Sequence[str]) -> str:
    """What some rows give for the index's columns, and their primary key, by name and type."""
    index = readings.index
    own = _texts(index.columns, [column.expression for column in index.columns])
    key = ", ".join(output_text(identifier(name), of) for name, of in primary_key.items())
    places = ", ".join(f"{literal(row)}::tid" for row in rows)
    return f"""
        SELECT ctid::text, {own}, ARRAY[{key}]::text[] FROM ONLY {index.table_sql}
        WHERE ctid = ANY(ARRAY[{places}]::tid[])
    """


def _texts(columns: Sequence[IndexColumn], values: Sequence[str]) -> str:
    """Values as an array of text; the spelling of a number without a scale is made the only one."""
    listed = [
        f"pg_catalog.trim_scale({value})::text"
        if column.column.base == "numeric" and column.column.modifier < 0
        else output_text(value, column.column.base)
        for column, value in zip(columns, values, strict=True)
    ]
    return f"ARRAY[{', '.join(listed)}]::text[]"
