# SPDX-License-Identifier: Apache-2.0
"""The last looks at indexes that are built: tombstones are cleared, suspects looked at again.

Suspects are rows whose entry another row has taken. Two rows of one key are a violation only if
both still have it. So a suspect is read as it is now, under lock. If its place is free by now, its
entry is put; if it has no entry any more, there is nothing to do; if another row sits there, both
are named.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from scrub.model.entry_shape import MARK
from scrub.stores.building import Clash, Step
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.building.loading import Undone, clashes_told
from scrub.stores.postgres.building.place import OpenBuild
from scrub.stores.postgres.building.puts import clashes, put, same_or_tombstone
from scrub.stores.postgres.building.relations_made import finishing
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier, literal

_ALL = 1_000_000
_MARK = identifier(MARK)


@dataclass(frozen=True, slots=True)
class LastLooks:
    """Looks at the indexes of a build before they are published."""

    own: OpenBuild

    def clear_step(self, rows: int) -> Step:
        own, cleared = self.own, 0
        with own.session.watched(), own.session.briefly(durable=False) as brief:
            for entry in own.place.entries:
                cleared += _clear(brief, entry, rows)
        return Step(rows=cleared, finished=not cleared)

    def verify_step(self, rows: int) -> Step:
        own, taken = self.own, 0
        found: list[Clash] = []
        with suppress(Undone), own.session.watched(), own.session.briefly(durable=False) as brief:
            for entry in own.place.entries:
                if entry.unique:
                    taken += _verify(brief, entry, rows, found)
            if found:
                raise Undone
        return Step(rows=taken, finished=not taken, clashes=tuple(found))

    def at_everything(self, brief: Brief, found: list[Clash]) -> None:
        """Look at all that is left, and make index tables ordinary; raises Undone if rows clash."""
        for entry in self.own.place.entries:
            _clear(brief, entry, _ALL)
            if entry.unique and _verify(brief, entry, _ALL, found) and found:
                raise Undone
            for statement in finishing(entry):
                brief.execute(statement)


def _clear(brief: Brief, entry: EntrySql, rows: int) -> int:
    """By their index: of a new table the server knows nothing, and would read all of it."""
    brief.execute("SET LOCAL enable_seqscan = off")
    cleared: int = brief.execute(_clearing(entry, rows)).rowcount
    brief.execute("SET LOCAL enable_seqscan TO DEFAULT")
    return cleared


def _verify(brief: Brief, entry: EntrySql, rows: int, found: list[Clash]) -> int:
    keys = sorted(set(brief.execute(_taking(entry, rows)).fetchall()))
    if not keys:
        return 0
    brief.execute(_locking(entry, keys))
    source = _entries_of(entry, keys)
    for arbiter in entry.arbiters:
        brief.execute(put(entry, arbiter, source, same_or_tombstone(entry)))
        found += clashes_told(brief, entry, clashes(entry, arbiter, source))
    return len(keys)


def _taking(entry: EntrySql, rows: int) -> str:
    """Take some rows off the list; their keys come back as text. Others' are passed over."""
    keys = ", ".join(key.text for key in entry.primary_key)
    return f"""
        DELETE FROM {entry.suspects} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM {entry.suspects} LIMIT {rows} FOR UPDATE SKIP LOCKED))
        RETURNING {keys}
    """


def _locking(entry: EntrySql, keys: Sequence[Sequence[str]]) -> str:
    """Lock the rows as they are now; whoever is about to change one is waited for."""
    return f"SELECT FROM {entry.table} AS r WHERE {_chosen(entry, keys)} FOR SHARE OF r"


def _entries_of(entry: EntrySql, keys: Sequence[Sequence[str]]) -> str:
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


def _clearing(entry: EntrySql, rows: int) -> str:
    """Remove some tombstones."""
    return f"""
        DELETE FROM {entry.relation} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM {entry.relation} WHERE {_MARK} LIMIT {rows} FOR UPDATE SKIP LOCKED))
    """
