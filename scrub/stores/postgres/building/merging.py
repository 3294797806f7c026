# SPDX-License-Identifier: Apache-2.0
"""Copying what writers recorded during the load into the new index, deletions included.

A batch locks its records before it touches the index, as writers do. So a record cannot be replaced
by a newer one between being read and being copied, and an older value never overwrites a newer one.
"""

from collections.abc import Sequence

from scrub.model.entry_shape import MARK
from scrub.stores.postgres.building.relations_made import NUMBER
from scrub.stores.postgres.entry_parts import Arbiter
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier

_MARK, _NUMBER = identifier(MARK), identifier(NUMBER)


def last_number(entry: EntrySql) -> str:
    """The highest number that a record may have got so far, committed or not."""
    sequence = f"pg_get_serial_sequence('{entry.temporary.replace(chr(39), chr(39) * 2)}'"
    return f"""
        SELECT coalesce(pg_sequence_last_value({sequence}, '{NUMBER}')::regclass), 0)
    """


def listing(entry: EntrySql, after: int, up_to: int, records: int) -> str:
    """The next records to merge, by number."""
    return f"""
        SELECT array_agg({_NUMBER}) FROM (
            SELECT {_NUMBER} FROM {entry.temporary}
            WHERE {_NUMBER} > {after} AND {_NUMBER} <= {up_to}
            ORDER BY {_NUMBER} LIMIT {records}) AS listed
    """


def locking(entry: EntrySql, numbers: Sequence[int]) -> str:
    """Lock the records; as many must come back as were listed."""
    return f"SELECT {_NUMBER} FROM {entry.temporary} WHERE {_chosen(numbers)} FOR UPDATE"


def suspecting(entry: EntrySql, arbiter: Arbiter, numbers: Sequence[int]) -> str:
    """Owners of entries that the records are about to overwrite: they are looked at again."""
    on = " AND ".join(part.equal("t", "e") for part in arbiter.parts)
    owner = ", ".join(f"t.{name}" for name in entry.owner)
    return f"""
        INSERT INTO {entry.suspects}
        SELECT {owner} FROM {entry.relation} AS t JOIN {entry.temporary} AS e ON {on}
        WHERE {_chosen(numbers)} AND NOT t.{_MARK} AND NOT ({entry.same_owner("t", "e")})
    """


def copying(entry: EntrySql, arbiter: Arbiter, numbers: Sequence[int]) -> str:
    """Overwrite what the index has with what was recorded; a deletion becomes a tombstone."""
    names = ", ".join([*entry.names, _MARK])
    values = ", ".join(f"{name} = excluded.{name}" for name in (*entry.names, _MARK))
    return f"""
        INSERT INTO {entry.relation} AS t ({names})
        SELECT {names} FROM {entry.temporary}
        WHERE {_chosen(numbers)} AND {arbiter.condition or "true"}
        ORDER BY {", ".join(arbiter.columns)}
        ON CONFLICT {arbiter.target} DO UPDATE SET {values}
    """


def _chosen(numbers: Sequence[int]) -> str:
    return f"{_NUMBER} = ANY('{{{','.join(map(str, numbers))}}}'::bigint[])"
