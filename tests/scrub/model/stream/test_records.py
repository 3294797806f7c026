# SPDX-License-Identifier: Apache-2.0
"""What a state holds comes back from JSON as it was."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from scrub.model.stream.coverage import HistorySnapshot, MustCover
from scrub.model.stream.heard import Heard, InOrder, LastChange, OutOfOrder, Window
from scrub.model.stream.keys import Key, Slice, Stretch
from scrub.model.stream.records import (
    awaited_record,
    heard_of,
    heard_record,
    key_of,
    key_record,
    vnode_of,
    vnode_record,
    with_awaited,
)
from scrub.model.stream.vnodes import Floor, Vnode
from tests.repair.streaming.made import a_state

KEYS: list[Key] = [
    (1, -(2**70)),
    ("", "ä\\'\"", "2026-01-01"),
    (True, False),
    (Decimal("1.50"), Decimal("1E+3")),
]


def through_json(record: object) -> object:
    return json.loads(json.dumps(record))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_key_comes_back_with_its_types(key: Key) -> None:
    back = key_of(through_json(key_record(key)))  # type: ignore[arg-type]
    assert back == key
    assert list(map(type, back or ())) == list(map(type, key))


def test_a_vnode_comes_back() -> None:
    snapshot = HistorySnapshot("5:9:6,7", {"": (77, 3)})
    vnode = Vnode(
        slice=Slice((1,), None),
        passed_to=(5,),
        floors=(Floor(Stretch(None, (5,)), snapshot), Floor(Stretch((5,), None), snapshot)),
        must_cover=MustCover({"a": (1, 2)}, frozenset({8, 7}), "5:9:"),
        rows_read=3,
        rows_expected=4,
    )
    assert vnode_of(through_json(vnode_record(vnode))) == vnode  # type: ignore[arg-type]


def test_what_is_awaited_comes_back() -> None:
    state = replace(
        a_state(),
        unseen=MustCover(transactions=frozenset({5, 9})),
        rereads={(1, "x"): MustCover(snapshot="5:9:")},
        reread_at={(Decimal("1.5"),): HistorySnapshot("5:9:", {"": (7, 1)})},
    )
    record = through_json(awaited_record(state))
    assert with_awaited(a_state(), record) == state  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "heard",
    [
        InOrder({"": (1, 2), "other": (3,)}),
        OutOfOrder(7),
        OutOfOrder(
            7,
            {"0": Window(9, (4,), ((8, (5,)), (9, (6,))), {(1, "x"): LastChange((5,), True)})},
        ),
    ],
    ids=["ordered", "nothing arrived", "out of order"],
)
def test_what_was_heard_comes_back(heard: Heard) -> None:
    assert heard_of(through_json(heard_record(heard))) == heard  # type: ignore[arg-type]
