# SPDX-License-Identifier: Apache-2.0
"""From messages of the plugin to changes of one table.

A change's position is the LSN of its commit and its number in the transaction. The LSN of its own
record would not do: records of transactions are interleaved, and a later commit may have begun
earlier.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scrub.errors import ScrubError
from scrub.model.stream.changes import UNCHANGED, Change, Position, Values
from scrub.model.stream.keys import Key
from scrub.stores.postgres.changes.key_types import key_reader
from scrub.stores.postgres.changes.messages import (
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    OldRow,
    Relation,
    Sent,
    Truncate,
    Update,
)
from scrub.stores.postgres.changes.pgoutput import MalformedMessage
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.changes.transaction_ids import widened

FULL = "f"


class TableChanged(ScrubError):
    """A column that the index needs was dropped or has another type now."""

    exit_code = 3


@dataclass(slots=True)
class _Layout:
    """Where the wanted columns are in the rows that are sent now."""

    places: list[int | None]  # of the wanted columns; None: the rows are older than the column
    key_places: list[int]
    identity: frozenset[int]
    width: int

    def demand_width(self, row: Sequence[Sent]) -> None:
        if len(row) != self.width:
            raise MalformedMessage(f"a row has {len(row)} columns, and its relation {self.width}")


class Decoder:
    """Collects whole transactions."""

    def __init__(
        self,
        table: StreamedTable,
        recent_transaction: int,
        start_lsn: int = 0,
        has_column: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._has_column = has_column  # whether the table has it now
        # A server decodes again what comes before the place to continue at, and says how far it is.
        self.heard_to: Position = (start_lsn, 0)
        self._table = table
        self._readers = _key_readers(table)
        self._recent = recent_transaction
        self._layout: _Layout | None = None
        self._begun: Begin | None = None
        self._transaction = 0
        self._number = 0
        self._open: list[Change] = []
        self._whole: list[Change] = []

    def take(self, message: Message) -> None:
        match message:
            case Begin():
                self._begun, self._number = message, 0
                self._transaction = widened(message.xid, self._recent)
                self._recent = max(self._recent, self._transaction)
            case Commit():
                self._whole += self._open
                self._open, self._begun = [], None
                self._heard(message.end_lsn)
            case Relation() if message.oid == self._table.oid:
                self._layout = self._laid_out(message)
            case Insert() | Update() | Delete() if message.relation == self._table.oid:
                self._add(message)
            case Truncate() if self._table.oid in message.relations:
                self._append(is_truncate=True)
            case _:
                pass

    def alive(self, wal_end: int) -> None:
        """The server has sent all commits before this place, unless it is in the middle of one."""
        if self._begun is None:
            self._heard(wal_end)

    def _heard(self, lsn: int) -> None:
        self.heard_to = max(self.heard_to, (lsn, 0))

    @property
    def is_in_a_transaction(self) -> bool:
        return self._begun is not None

    @property
    def waiting(self) -> int:
        """How many changes of whole transactions are there to be taken out."""
        return len(self._whole)

    def take_out(self) -> tuple[Change, ...]:
        """The changes of the transactions that are complete."""
        whole, self._whole = self._whole, []
        return tuple(whole)

    def _add(self, message: Insert | Update | Delete) -> None:
        layout = self._layout
        if layout is None:
            raise MalformedMessage("a row came before its relation")
        for row in _rows_of(message):
            layout.demand_width(row)
        match message:
            case Insert(new=new):
                self._append(put=self._key(layout, new), values=_values(layout, new, None))
            case Delete(old=old):
                self._append(removed=self._key(layout, old.values))
            case Update(old=old, new=new):
                before = None if old is None else self._key(layout, old.values)
                new = _with_key(layout, new, old)
                key = self._key(layout, new)
                self._append(
                    removed=None if before == key else before,
                    put=key,
                    values=_values(layout, new, old),
                )

    def _append(
        self,
        *,
        removed: Key | None = None,
        put: Key | None = None,
        values: Values = (),
        is_truncate: bool = False,
    ) -> None:
        if self._begun is None:
            raise MalformedMessage("a row came outside of a transaction")
        self._number += 1
        self._open.append(
            Change(
                position=(self._begun.commit_lsn, self._number),
                transaction=self._transaction,
                removed=removed,
                put=put,
                values=values,
                is_truncate=is_truncate,
            )
        )

    def _laid_out(self, relation: Relation) -> _Layout:
        table, sent = self._table, {c.name: n for n, c in enumerate(relation.columns)}
        places = [sent.get(column.name) for column in table.columns]
        for column, place in zip(table.columns, places, strict=True):
            if place is None and not self._has_column(column.name):
                raise TableChanged(
                    f"{table.label} no longer has the column {column.name}, which the index needs",
                    hint="correct the catalog; the stream then continues where it stopped",
                )
            if place is not None and relation.columns[place].type_oid != column.type_oid:
                raise TableChanged(
                    f"{table.label}: the column {column.name} had another type when it was "
                    "written than it has now",
                    hint="drop the stream and build the index again",
                )
        missing = [name for name in table.primary_key if name not in sent]
        if missing:
            raise TableChanged(f"{table.label}: {', '.join(missing)} is not in its changes")
        identity = frozenset(n for n, c in enumerate(relation.columns) if c.is_identity)
        key_places = [sent[name] for name in table.primary_key]
        if not identity.issuperset(key_places) and relation.replica_identity != FULL:
            raise TableChanged(
                f"{table.label}: deletions do not carry the primary key",
                hint=f"ALTER TABLE {table.label} REPLICA IDENTITY DEFAULT, then drop the stream "
                "and build the index again",
            )
        return _Layout(places, key_places, identity, len(relation.columns))

    def _key(self, layout: _Layout, row: Sequence[Sent]) -> Key:
        key = []
        for place, reader in zip(layout.key_places, self._readers, strict=True):
            value = row[place]
            if not isinstance(value, str):
                raise MalformedMessage(f"{self._table.label}: a row came without its primary key")
            key.append(reader(value))
        return tuple(key)


def _key_readers(table: StreamedTable) -> list[Callable[[str], Any]]:
    types = {column.name: column.type_oid for column in table.columns}
    return [key_reader(types[name], name) for name in table.primary_key]


def _rows_of(message: Insert | Update | Delete) -> list[tuple[Sent, ...]]:
    old = None if isinstance(message, Insert) else message.old
    new = () if isinstance(message, Delete) else (message.new,)
    return [*new, *(() if old is None else (old.values,))]


def _with_key(layout: _Layout, new: tuple[Sent, ...], old: OldRow | None) -> tuple[Sent, ...]:
    """The new row, with a long key that did not change taken from the old one."""
    if old is None or all(new[place] is not UNCHANGED for place in layout.key_places):
        return new
    return tuple(
        old.values[n] if value is UNCHANGED and n in layout.identity else value
        for n, value in enumerate(new)
    )


def _values(layout: _Layout, row: Sequence[Sent], old: OldRow | None) -> Values:
    """The wanted columns; values that were left out are in the old row if that is whole."""
    return tuple(
        None if place is None else _value(row[place], place, old) for place in layout.places
    )


def _value(value: Sent, place: int, old: OldRow | None) -> Sent:
    return old.values[place] if value is UNCHANGED and old is not None and old.is_whole else value
