# SPDX-License-Identifier: Apache-2.0
"""Keys that travelled to a task, and the rows whose keys are not among them."""

import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checks.keys import held_keys
from checks.keys.held_keys import HeldKeys
from checks.keys.split_rows import Key, key_digests
from tests.checks.keys.ground import SALT, colliding, key_of, table_of


def batch_of(key: Key, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    return table_of(key, rows).combine_chunks().to_batches()[0]


def held(key: Key, rows: list[tuple[Any, ...]], *, by_first: bool = False) -> HeldKeys:
    digests = key_digests(batch_of(key, rows), key, SALT).digests
    if by_first:
        return HeldKeys(digests.first, SALT)
    return HeldKeys(np.column_stack([digests.first, digests.second]), SALT)


NAN = math.nan


@pytest.mark.parametrize(
    ("child", "parent", "there", "asked", "lacks"),
    [
        ("bigint", "bigint", [1, 2], [1, 3, 2, None], [False, True, False, False]),
        ("int", "bigint", [1, -2], [1, -2, 3], [False, False, True]),
        ("bigint", "tinyint", [1, -2], [1, -2, 257], [False, False, True]),
        ("double", "double", [NAN, 0.0], [NAN, -0.0, 1.0], [False, False, True]),
        ("string", "string", ["", "a"], ["a", "", "A", None], [False, False, True, False]),
        ("binary", "binary", [b"\0"], [b"", b"\0", b"\0\0"], [True, False, True]),
        ("boolean", "boolean", [True], [True, False], [False, True]),
    ],
)
def test_a_row_lacks_a_parent_if_no_key_is_equal(
    child: str, parent: str, there: list[Any], asked: list[Any], lacks: list[bool]
) -> None:
    key = key_of(of=child)
    complete = [value is not None for value in asked]
    has = [is_key and not lack for is_key, lack in zip(complete, lacks, strict=True)]
    batch = batch_of(key, [(value,) for value in asked])
    for by_first in (False, True):
        keys = held(key_of(id=parent), [(value,) for value in there], by_first=by_first)
        assert keys.lacks(batch, key).tolist() == lacks
        assert keys.has(batch, key).tolist() == has


def test_a_null_in_any_column_refers_to_nothing() -> None:
    key = key_of(a="bigint", b="string")
    keys = held(key, [(1, "x")])
    batch = batch_of(key, [(1, "x"), (1, None), (None, "x"), (None, None), (2, "x")])
    assert keys.lacks(batch, key).tolist() == [False, False, False, False, True]


def test_texts_that_come_as_codes_are_the_same_keys() -> None:
    key = key_of(a="string")
    keys = held(key, [("x",), ("y",)])
    coded = pa.array(["y", None, "z", "y"]).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([coded], ["a"])
    assert keys.lacks(batch, key).tolist() == [False, False, True, False]


def test_a_key_whose_first_digest_is_forced_to_collide_is_no_parent() -> None:
    key = key_of(a="bigint", b="bigint")
    parent = (1, 2)
    child = colliding(parent, 3)
    keys = held(key, [parent])
    batch = batch_of(key, [parent, child])
    assert keys.lacks(batch, key).tolist() == [False, True]
    suspected = HeldKeys(np.ascontiguousarray(keys.digests[:, 0]), SALT)
    assert suspected.has(batch, key).tolist() == [True, True]


def test_no_parent_is_a_parent_of_nothing() -> None:
    key = key_of(a="bigint")
    none = HeldKeys(np.empty((0, 2), dtype=np.uint64), SALT)
    assert none.lacks(batch_of(key, [(1,), (None,)]), key).tolist() == [True, False]


def test_keys_are_filled_into_a_set_once_and_old_sets_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = key_of(a="bigint")
    batch = batch_of(key, [(1,)])
    monkeypatch.setattr(held_keys, "_SETS_BYTES_MAX", 1000)
    monkeypatch.setattr(held_keys, "_sets", type(held_keys._sets)())
    one, other = held(key, [(1,)]), held(key, [(2,)])
    travelled = pickle.loads(pickle.dumps(one))
    one.lacks(batch, key)
    first = held_keys._sets[one.identity]
    travelled.lacks(batch, key)
    assert held_keys._sets[one.identity] is first
    for _ in range(3):
        other = held(key, [(2,)])
        assert other.lacks(batch, key).tolist() == [True]
    assert list(held_keys._sets)[-1] == other.identity
    assert sum(made.nbytes for made in held_keys._sets.values()) <= 1000
