# SPDX-License-Identifier: Apache-2.0
"""From messages to changes, without a server."""

from typing import Any

import pytest

from scrub.model.stream.changes import UNCHANGED, Change
from scrub.stores.postgres.changes.decoding import Decoder, TableChanged
from scrub.stores.postgres.changes.key_types import UnorderedKey
from scrub.stores.postgres.changes.messages import (
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    OldRow,
    Relation,
    RelationColumn,
    Truncate,
    Update,
)
from scrub.stores.postgres.changes.pgoutput import MalformedMessage
from scrub.stores.postgres.changes.streamed_table import StreamedTable, WantedColumn

INT, TEXT, POINT = 23, 25, 600


def table(key_type: int = INT) -> StreamedTable:
    columns = (WantedColumn("id", key_type), WantedColumn("v", TEXT))
    return StreamedTable(oid=7, label="t", sql="t", columns=columns, primary_key=("id",))


def relation(*columns: tuple[str, int, bool], identity: str = "d") -> Relation:
    sent = tuple(RelationColumn(name, oid, -1, is_key) for name, oid, is_key in columns)
    return Relation(oid=7, schema="public", name="t", replica_identity=identity, columns=sent)


T = relation(("id", INT, True), ("v", TEXT, False))


def decoded(*messages: Message, near: int = 100, **options: Any) -> tuple[Change, ...]:
    decoder = Decoder(table(**options), near)
    for message in (Begin(50, 99), T, *messages, Commit(50, 60)):
        decoder.take(message)
    return decoder.take_out()


def test_a_position_is_the_commit_and_the_number_in_the_transaction() -> None:
    first, second = decoded(Insert(7, ("1", "a")), Insert(7, ("2", None)))
    assert first == Change(position=(50, 1), transaction=99, put=(1,), values=("1", "a"))
    assert second == Change(position=(50, 2), transaction=99, put=(2,), values=("2", None))


def test_an_update_removes_the_old_key_only_if_it_is_another_one() -> None:
    same, moved = decoded(
        Update(7, OldRow(("1", None), False), ("1", "a")),
        Update(7, OldRow(("1", None), False), ("2", "a")),
    )
    assert (same.removed, same.put) == (None, (1,))
    assert (moved.removed, moved.put) == ((1,), (2,))


def test_a_deletion_needs_the_key_of_the_old_row_only() -> None:
    (gone,) = decoded(Delete(7, OldRow(("1", None), False)))
    assert (gone.removed, gone.put, gone.values) == ((1,), None, ())


def test_a_value_that_was_left_out_is_taken_from_a_whole_old_row() -> None:
    changes = decoded(
        Update(7, OldRow(("1", "long"), True), ("1", UNCHANGED)),
        Update(7, OldRow(("1", None), False), ("2", UNCHANGED)),
        Update(7, None, ("2", UNCHANGED)),
    )
    assert [change.values[1] for change in changes] == ["long", UNCHANGED, UNCHANGED]


def test_a_long_key_that_was_left_out_is_taken_from_the_old_row() -> None:
    (change,) = decoded(Update(7, OldRow(("1", None), False), (UNCHANGED, "a")))
    assert (change.removed, change.put, change.values) == (None, (1,), ("1", "a"))


def test_a_transaction_is_never_cut() -> None:
    decoder = Decoder(table(), 100)
    for message in (Begin(50, 99), T, Insert(7, ("1", "a"))):
        decoder.take(message)
    decoder.alive(1000)  # may be behind the commit that is being sent
    assert decoder.take_out() == ()
    assert decoder.heard_to == (0, 0)
    decoder.take(Commit(50, 60))
    assert len(decoder.take_out()) == 1
    assert decoder.heard_to == (60, 0)
    decoder.alive(80)
    assert decoder.heard_to == (80, 0)
    decoder.alive(70)
    assert decoder.heard_to == (80, 0)


def test_a_server_that_decodes_again_does_not_set_the_stream_back() -> None:
    """It would forget changes, as seen from the state, and the next start would be refused."""
    decoder = Decoder(table(), 100, start_lsn=500)
    decoder.alive(300)
    assert decoder.heard_to == (500, 0)


def test_a_truncate_of_several_tables_is_one_of_this_one() -> None:
    (change,) = decoded(Truncate((6, 7)), Truncate((6,)))
    assert change.is_truncate


def test_changes_of_other_tables_are_passed_over() -> None:
    assert decoded(Insert(8, ("1", "a")), Delete(8, OldRow(("1",), False))) == ()


def test_the_epoch_of_a_transaction_is_that_of_those_near_it() -> None:
    near = 5 * 2**32 + 3
    (change,) = decoded(Insert(7, ("1", "a")), near=near)
    assert change.transaction == 5 * 2**32 + 99


def test_columns_are_found_by_name_and_absent_ones_are_null() -> None:
    before = relation(("other", INT, False), ("id", INT, True))
    after = relation(("v", TEXT, False), ("id", INT, True))
    first, second = decoded(before, Insert(7, ("9", "1")), after, Insert(7, ("a", "2")))
    assert (first.put, first.values) == ((1,), ("1", None))
    assert (second.put, second.values) == ((2,), ("2", "a"))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (relation(("id", INT, True), ("v", INT, False)), "the column v had another type"),
        (relation(("v", TEXT, False)), "id is not in its changes"),
        (
            relation(("id", INT, False), ("v", TEXT, True), identity="i"),
            "deletions do not carry the primary key",
        ),
    ],
)
def test_a_table_that_does_not_fit_any_more_stops_the_stream(
    changed: Relation, reason: str
) -> None:
    with pytest.raises(TableChanged, match=reason) as stopped:
        decoded(changed)
    assert stopped.value.exit_code == 3


@pytest.mark.parametrize(
    "message",
    [Insert(7, ("1",)), Insert(7, (None, "a")), Delete(7, OldRow(("1", "a", "b"), False))],
)
def test_a_row_that_is_not_one_of_its_relation_is_malformed(message: Message) -> None:
    with pytest.raises(MalformedMessage):
        decoded(message)


@pytest.mark.parametrize(
    "messages", [[Begin(50, 99), Insert(7, ("1", "a"))], [T, Insert(7, ("1", "a"))]]
)
def test_a_row_before_its_relation_or_its_transaction_is_malformed(
    messages: list[Message],
) -> None:
    decoder = Decoder(table(), 100)
    *before, row = messages
    for message in before:
        decoder.take(message)
    with pytest.raises(MalformedMessage):
        decoder.take(row)


def test_a_key_without_an_order_is_refused_by_name() -> None:
    with pytest.raises(UnorderedKey, match="the column id of the primary key"):
        decoded(key_type=POINT)
