# SPDX-License-Identifier: Apache-2.0
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Truncate,
    Update,
)
from scrub.stores.postgres.changes.pgoutput import (
    MalformedMessage,
    parse,
    parse_frame,
    status_update,
)
from tests.scrub.stores.postgres.changes.encoded import encoded

OIDS = st.integers(0, 2**32 - 1)
LSNS = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ROWS = st.lists(st.one_of(TEXTS, st.none(), st.just(UNCHANGED)), max_size=5).map(tuple)
OLD_ROWS = st.builds(OldRow, ROWS, st.booleans())
COLUMNS = st.builds(RelationColumn, NAMES, OIDS, st.integers(-1, 2**31 - 1), st.booleans())
MESSAGES = st.one_of(
    st.builds(Begin, LSNS, OIDS),
    st.builds(Commit, LSNS, LSNS),
    st.builds(
        Relation,
        oid=OIDS,
        schema=NAMES.map(lambda name: name or "pg_catalog"),
        name=NAMES,
        replica_identity=st.sampled_from("dnfi"),
        columns=st.lists(COLUMNS, max_size=4).map(tuple),
    ),
    st.builds(Insert, OIDS, ROWS),
    st.builds(Update, OIDS, st.none() | OLD_ROWS, ROWS),
    st.builds(Delete, OIDS, OLD_ROWS),
    st.builds(Truncate, st.lists(OIDS, max_size=4).map(tuple)),
)


@given(MESSAGES)
def test_every_message_is_understood(message: Message) -> None:
    assert parse(encoded(message)) == message


@given(MESSAGES, st.data())
def test_a_message_that_was_cut_is_malformed(message: Message, data: st.DataObject) -> None:
    whole = encoded(message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(MalformedMessage):
        parse(cut)


@given(MESSAGES, st.binary(min_size=1, max_size=3))
def test_a_message_that_is_too_long_is_malformed(message: Message, more: bytes) -> None:
    with pytest.raises(MalformedMessage):
        parse(encoded(message) + more)


@given(MESSAGES, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4))
def test_damaged_bytes_are_a_message_or_malformed(
    message: Message, damages: list[tuple[int, int]]
) -> None:
    data = bytearray(encoded(message))
    for place, byte in damages:
        data[place % len(data)] = byte
    try:
        found = parse(bytes(data))
    except MalformedMessage:
        return
    assert isinstance(found, Message)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_frame_or_malformed(data: bytes) -> None:
    try:
        found = parse_frame(data)
    except MalformedMessage:
        return
    assert isinstance(found, Payload | Keepalive)


# As a server of version 18 sent them.
@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("4200000000016f2d00000303a74ce1e52e000002f3", Begin(0x16F2D00, 755)),
        (
            "430000000000016f2d0000000000016f2d30000303a74ce1e52e",
            Commit(0x16F2D00, 0x16F2D30),
        ),
        (
            "52000040017075626c69630074006400020169640000000017ffffffff00760000000019ffffffff",
            Relation(
                oid=0x4001,
                schema="public",
                name="t",
                replica_identity="d",
                columns=(
                    RelationColumn("id", 23, -1, True),
                    RelationColumn("v", 25, -1, False),
                ),
            ),
        ),
        ("49000040014e0002740000000131740000000161", Insert(0x4001, ("1", "a"))),
        (
            "55000040014b00027400000001316e4e0002740000000133740000000161",
            Update(0x4001, OldRow(("1", None), False), ("3", "a")),
        ),
    ],
)
def test_what_a_server_sent(sent: str, message: Message) -> None:
    assert parse(bytes.fromhex(sent)) == message


def test_messages_that_say_nothing_about_rows_are_passed_over() -> None:
    assert [parse(kind + b"whatever") for kind in (b"O", b"Y", b"M")] == [
        Other("origin"),
        Other("type"),
        Other("message"),
    ]


def test_a_frame_is_a_message_or_a_sign_of_life() -> None:
    truncate = Truncate((1, 2))
    assert parse_frame(b"w" + bytes(24) + encoded(truncate)) == Payload(truncate)
    alive = b"k" + struct.pack("!QqB", 5, 0, 1)
    assert parse_frame(alive) == Keepalive(5, wants_reply=True)


def test_an_answer_says_what_the_server_may_forget() -> None:
    answer = status_update(9, 7, wants_reply=True)
    assert answer == b"r" + struct.pack("!QQQqB", 9, 7, 7, 0, 1)


def test_a_name_that_is_not_text_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="not UTF-8"):
        parse(b"R" + bytes(4) + b"\xff\0t\0d\0\0")
