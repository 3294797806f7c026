# SPDX-License-Identifier: Apache-2.0
"""What a server would send, made by hand: the inverse of the parser, for tests only."""

import struct

from scrub.model.stream.changes import UNCHANGED
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


def encoded(message: Message) -> bytes:
    match message:
        case Begin(commit_lsn, xid):
            return b"B" + struct.pack("!QqI", commit_lsn, 7, xid)
        case Commit(commit_lsn, end_lsn):
            return b"C" + struct.pack("!BQQq", 0, commit_lsn, end_lsn, 7)
        case Relation():
            return b"R" + _relation(message)
        case Insert(relation, new):
            return b"I" + struct.pack("!I", relation) + b"N" + _row(new)
        case Update(relation, old, new):
            return b"U" + struct.pack("!I", relation) + _old(old) + b"N" + _row(new)
        case Delete(relation, old):
            return b"D" + struct.pack("!I", relation) + _old(old)
        case Truncate(relations):
            head = struct.pack("!IB", len(relations), 0)
            return b"T" + head + b"".join(struct.pack("!I", oid) for oid in relations)
    raise AssertionError(message)


def _relation(relation: Relation) -> bytes:
    head = struct.pack("!I", relation.oid)
    schema = "" if relation.schema == "pg_catalog" else relation.schema
    names = schema.encode() + b"\0" + relation.name.encode() + b"\0"
    columns = [
        struct.pack("!B", column.is_identity)
        + column.name.encode()
        + b"\0"
        + struct.pack("!Ii", column.type_oid, column.type_modifier)
        for column in relation.columns
    ]
    count = struct.pack("!H", len(columns))
    return head + names + relation.replica_identity.encode() + count + b"".join(columns)


def _old(old: OldRow | None) -> bytes:
    return b"" if old is None else (b"O" if old.is_whole else b"K") + _row(old.values)


def _row(row: tuple[Sent, ...]) -> bytes:
    return struct.pack("!H", len(row)) + b"".join(map(_value, row))


def _value(value: Sent) -> bytes:
    if value is None:
        return b"n"
    if not isinstance(value, str):
        assert value is UNCHANGED
        return b"u"
    return b"t" + struct.pack("!i", len(value.encode())) + value.encode()
