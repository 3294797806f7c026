# SPDX-License-Identifier: Apache-2.0
"""Putting entries of a source into an index, and telling who is in their way."""

from collections.abc import Sequence

from scrub.model.entry_shape import MARK
from scrub.stores.postgres.entry_parts import Arbiter
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier

_MARK = identifier(MARK)


def put_plainly(entry: EntrySql, source: str, order: Sequence[str]) -> str:
    """Put all entries; fails as a whole if anything is in the place of one."""
    names = ", ".join(entry.names)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"INSERT INTO {entry.relation} ({names}) SELECT {names} FROM ({source}) AS e{ordered}"


def put(entry: EntrySql, arbiter: Arbiter, source: str, on_conflict: str) -> str:
    """Put the entries that an arbiter is for, in the order of its key."""
    names, where = ", ".join(entry.names), arbiter.condition or "true"
    owner = ", ".join(f"t.{name}" for name in entry.owner)
    return f"""
        INSERT INTO {entry.relation} AS t ({names})
        SELECT {arbiter.distinct}{names} FROM ({source}) AS e WHERE {where}
        ORDER BY {", ".join(arbiter.columns)}
        ON CONFLICT {arbiter.target} DO UPDATE {on_conflict}
        RETURNING {owner}
    """


def same(entry: EntrySql) -> str:
    """An entry that already exists is touched, not changed: so it counts as put."""
    return f"SET {_MARK} = false WHERE NOT t.{_MARK} AND {entry.same_entry('t', 'excluded')}"


def same_or_tombstone(entry: EntrySql) -> str:
    """An entry that already exists is overwritten, and so is a tombstone."""
    values = ", ".join(f"{name} = excluded.{name}" for name in entry.names)
    same = entry.same_entry("t", "excluded")
    return f"SET {values}, {_MARK} = false WHERE t.{_MARK} OR {same}"


def clashes(entry: EntrySql, arbiter: Arbiter, source: str) -> str:
    """Entries of the source in whose place another entry is: key, row and owner, as text."""
    on = " AND ".join(
        part.equal("t", "e") if arbiter.owners_may_differ else part.same("t", "e")
        for part in arbiter.parts
    )
    key = ", ".join(part.text("e") for part in entry.indexed)
    row = ", ".join(part.text("e") for part in entry.owner_parts)
    owner = ", ".join(part.text("t") for part in entry.owner_parts)
    return f"""
        SELECT ARRAY[{key}], ARRAY[{row}], ARRAY[{owner}]
        FROM (SELECT * FROM ({source}) AS e WHERE {arbiter.condition or "true"}) AS e
        JOIN {entry.relation} AS t ON {on}
        WHERE NOT t.{_MARK} AND NOT ({entry.same_entry("t", "e")})
        ORDER BY 1, 2 LIMIT 10
    """
