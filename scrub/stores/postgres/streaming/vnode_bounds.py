# SPDX-License-Identifier: Apache-2.0
"""Where the primary key of a table is cut into vnodes: from a sample of its pages, as builds do."""

from collections.abc import Sequence

from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_types import IN_BYTES, key_reader
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import ServerRelation, leaves_of, size_of

_SAMPLED_ROWS = 50_000
_BYTES_PER_ROW_GUESSED = 100


def rows_expected(connection: Connection, relation: ServerRelation) -> int:
    """The planner's estimate, or what the size suggests."""
    return sum(
        size_of(connection, leaf) // _BYTES_PER_ROW_GUESSED if leaf.rows is None else leaf.rows
        for leaf in leaves_of(connection, relation)
    )


def vnode_bounds(
    connection: Connection, table: StreamedTable, vnodes: int, rows: int
) -> tuple[Key, ...]:
    """Keys that cut the table into so many vnodes of about the same size, or fewer."""
    names = ", ".join(identifier(column.name) for column in table.key_columns)
    percent = min(100.0, max(0.01, 100.0 * _SAMPLED_ROWS / max(rows, 1)))
    result = connection.execute(
        f"SELECT {names} FROM {table.sql} TABLESAMPLE SYSTEM ({percent}) LIMIT {10 * _SAMPLED_ROWS}"
    ).pgresult
    assert result is not None, "a SELECT has a result"
    readers = [key_reader(column.type_oid, column.name) for column in table.key_columns]
    texts = (
        [result.get_value(row, column) or b"" for column in range(result.nfields)]
        for row in range(result.ntuples)
    )
    # Sorted here, in the order of the stream, and not in that of a collation.
    keys = sorted(
        tuple(reader(text.decode()) for reader, text in zip(readers, row, strict=True))
        for row in texts
    )
    return _cut(keys, vnodes)


def _cut(keys: Sequence[Key], vnodes: int) -> tuple[Key, ...]:
    chosen = (keys[number * len(keys) // vnodes] for number in range(1, vnodes) if keys)
    return tuple(sorted(set(chosen) - {keys[0]} if keys else ()))


def is_slow_to_order(connection: Connection, table: StreamedTable) -> list[str]:
    """Texts of the key that no index has in the order of bytes: each reading would sort them."""
    texts = [column.name for column in table.key_columns if column.type_oid in IN_BYTES]
    if not texts:
        return []
    rows = connection.execute(_IN_BYTES, (table.oid, list(table.primary_key))).fetchall()
    return [] if rows else texts


_IN_BYTES = """
    SELECT 1 FROM pg_catalog.pg_index i
    WHERE i.indrelid = %s AND i.indisvalid AND i.indpred IS NULL
      AND (SELECT array_agg(a.attname::text ORDER BY k.n)
           FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k(attnum, n)
           JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
           WHERE k.n <= i.indnkeyatts) = %s::text[]
      AND NOT EXISTS (
           SELECT FROM unnest(i.indcollation::oid[]) AS used(number)
           JOIN pg_catalog.pg_collation l ON l.oid = used.number
           LEFT JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
           WHERE CASE WHEN l.collname = 'default' THEN d.datcollate ELSE l.collcollate END
                 NOT IN ('C', 'POSIX'))
"""
