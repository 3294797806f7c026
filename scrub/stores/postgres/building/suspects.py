# SPDX-License-Identifier: Apache-2.0
"""Rows whose entry another row has taken, looked at again.

Two rows of one key are a violation only if both still have it. So a suspect is read as it is now,
under lock. If its place is free by now, its entry is put; if it has no entry any more, there is
nothing to do; if another row sits there, both are named.
"""

from collections.abc import Sequence

from scrub.model.entry_shape import MARK
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier, literal

_MARK = identifier(MARK)


def taking(entry: EntrySql, rows: int) -> str:
    """Take some rows off the list; their keys come back as text. Others' are passed over."""
    keys = ", ".join(key.text for key in entry.primary_key)
    return f"""
        DELETE FROM {entry.suspects} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM {entry.suspects} LIMIT {rows} FOR UPDATE SKIP LOCKED))
        RETURNING {keys}
    """


def locking(entry: EntrySql, keys: Sequence[Sequence[str]]) -> str:
    """Lock the rows as they are now; whoever is about to change one is waited for."""
    return f"SELECT FROM {entry.table} AS r WHERE {_chosen(entry, keys)} FOR SHARE OF r"


def entries_of(entry: EntrySql, keys: Sequence[Sequence[str]]) -> str:
    """The entries that these rows have."""
    chosen = f"{_chosen(entry, keys)} AND {entry.covered}"
    return f"SELECT {entry.values} FROM {entry.table} AS r WHERE {chosen}"


def _chosen(entry: EntrySql, keys: Sequence[Sequence[str]]) -> str:
    listed = ", ".join(
        "("
        + ", ".join(
            f"{literal(value)}::{column.type}"
            for column, value in zip(entry.primary_key, key, strict=True)
        )
        + ")"
        for key in keys
    )
    columns = ", ".join(f"k{n}" for n in range(len(entry.primary_key)))
    same = " AND ".join(
        f"r.{key.name} {key.equality} l.k{n}" for n, key in enumerate(entry.primary_key)
    )
    # A relation to join with: a list would become one comparison for each key and row.
    return f"EXISTS (SELECT FROM (VALUES {listed}) AS l({columns}) WHERE {same})"


def clearing(entry: EntrySql, rows: int) -> str:
    """Remove some tombstones."""
    return f"""
        DELETE FROM {entry.relation} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM {entry.relation} WHERE {_MARK} LIMIT {rows} FOR UPDATE SKIP LOCKED))
    """
