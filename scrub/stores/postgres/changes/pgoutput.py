# SPDX-License-Identifier: Apache-2.0
"""Parses the messages of `pgoutput`, protocol version 1, and the frames that carry them.

Pure: bytes in, messages out. Whatever the bytes are, the answer is a message or MalformedMessage.
"""

import struct
from collections.abc import Callable

from scrub.errors import StoreUnavailable
from scrub.model.stream.changes import UNCHANGED
from scrub.stores.postgres.changes.messages import (
    Begin,
    Commit,
    Delete,
    Insert,
    Keepalive,
    Message,
    OldRow,
    Other,
    Payload,
    Relation,
    RelationColumn,
    Sent,
    Truncate,
    Update,
)

_WHOLE_ROW, _KEY_ONLY, _NEW = "O", "K", "N"
_IN_KEY = 1
_OTHERS = {"O": "origin", "Y": "type", "M": "message"}


class MalformedMessage(StoreUnavailable):
    """The server sent something that is not of the protocol that was asked for."""


class _Reader:
    """Bytes, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise MalformedMessage(f"a message of {len(self._data)} bytes ends too early")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, code: str) -> int:
        value: int
        (value,) = struct.unpack(f"!{code}", self.take(struct.calcsize(f"!{code}")))
        return value

    def letter(self) -> str:
        return chr(self.take(1)[0])

    def name(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise MalformedMessage("a name in a message has no end")
        name = self.take(end - self._at)
        self.take(1)
        return _text(name)

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def demand_end(self) -> None:
        if self._at != len(self._data):
            raise MalformedMessage(f"a message has {len(self._data) - self._at} bytes too many")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedMessage("a text in a message is not UTF-8") from error


def parse_frame(data: bytes) -> Payload | Keepalive:
    """What the server sends while it streams: a message with its place, or a sign of life."""
    reader = _Reader(data)
    match reader.letter():
        case "w":
            reader.take(24)  # where the record is, how far the server is, and its time
            return Payload(parse(reader.rest()))
        case "k":
            wal_end, _, wants_reply = reader.number("Q"), reader.number("q"), reader.number("B")
            reader.demand_end()
            return Keepalive(wal_end, bool(wants_reply))
        case kind:
            raise MalformedMessage(f"the server sent a frame of kind {kind!r}")


def status_update(received: int, kept: int, *, wants_reply: bool) -> bytes:
    """What a client answers: how far it has received, and how far the server may forget."""
    return b"r" + struct.pack("!QQQqB", received, kept, kept, 0, wants_reply)


def parse(data: bytes) -> Message:
    """One message of the plugin. Raises MalformedMessage."""
    reader = _Reader(data)
    kind = reader.letter()
    if kind in _OTHERS:
        return Other(_OTHERS[kind])
    parser = _PARSERS.get(kind)
    if parser is None:
        raise MalformedMessage(f"the server sent a message of kind {kind!r}")
    message = parser(reader)
    reader.demand_end()
    return message


def _begin(reader: _Reader) -> Begin:
    commit_lsn, _ = reader.number("Q"), reader.number("q")
    return Begin(commit_lsn, reader.number("I"))


def _commit(reader: _Reader) -> Commit:
    reader.number("B")
    message = Commit(reader.number("Q"), reader.number("Q"))
    reader.number("q")
    return message


def _relation(reader: _Reader) -> Relation:
    return Relation(
        oid=reader.number("I"),
        schema=reader.name() or "pg_catalog",  # that schema comes as an empty name
        name=reader.name(),
        replica_identity=reader.letter(),
        columns=tuple(_column(reader) for _ in range(reader.number("H"))),
    )


def _column(reader: _Reader) -> RelationColumn:
    flags, name = reader.number("B"), reader.name()
    return RelationColumn(name, reader.number("I"), reader.number("i"), bool(flags & _IN_KEY))


def _insert(reader: _Reader) -> Insert:
    relation = reader.number("I")
    _demand(reader.letter(), _NEW)
    return Insert(relation, _row(reader))


def _update(reader: _Reader) -> Update:
    relation, kind, old = reader.number("I"), reader.letter(), None
    if kind in (_WHOLE_ROW, _KEY_ONLY):
        old = OldRow(_row(reader), kind == _WHOLE_ROW)
        kind = reader.letter()
    _demand(kind, _NEW)
    return Update(relation, old, _row(reader))


def _delete(reader: _Reader) -> Delete:
    relation, kind = reader.number("I"), reader.letter()
    _demand(kind, _WHOLE_ROW + _KEY_ONLY)
    return Delete(relation, OldRow(_row(reader), kind == _WHOLE_ROW))


def _truncate(reader: _Reader) -> Truncate:
    number, _ = reader.number("I"), reader.number("B")
    return Truncate(tuple(reader.number("I") for _ in range(number)))


def _row(reader: _Reader) -> tuple[Sent, ...]:
    return tuple(_value(reader) for _ in range(reader.number("H")))


def _value(reader: _Reader) -> Sent:
    match reader.letter():
        case "n":
            return None
        case "u":
            return UNCHANGED
        case "t":
            return _text(reader.take(reader.number("i")))
        case kind:
            raise MalformedMessage(f"the server sent a value of kind {kind!r}")


def _demand(kind: str, allowed: str) -> None:
    if kind not in allowed:
        raise MalformedMessage(f"the server sent a row of kind {kind!r}")


_PARSERS: dict[str, Callable[[_Reader], Message]] = {
    "B": _begin,
    "C": _commit,
    "R": _relation,
    "I": _insert,
    "U": _update,
    "D": _delete,
    "T": _truncate,
}
