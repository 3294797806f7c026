# SPDX-License-Identifier: Apache-2.0
"""Rows that may have one of some keys: never one too few."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.stores.delta.entries import _Groups
from scrub.stores.delta.rewriting import _without
from scrub.stores.files.key_bounds import KeyBounds

_INTEGERS = st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
_TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "c"]))
_ROW = st.tuples(_INTEGERS, _TEXTS)


def _table(rows: list[tuple[int | None, str | None]]) -> pa.Table:
    numbers, texts = [row[0] for row in rows], [row[1] for row in rows]
    return pa.table({"n": pa.array(numbers, pa.int64()), "t": pa.array(texts, pa.string())})


@given(st.lists(_ROW, max_size=60), st.lists(_ROW, max_size=8), st.booleans())
def test_candidates_are_the_rows_with_known_values_in_every_column(
    rows: list[tuple[int | None, str | None]],
    keys: list[tuple[int | None, str | None]],
    as_codes: bool,
) -> None:
    table = _table(rows).combine_chunks()
    if as_codes:
        table = table.set_column(1, "t", table.column("t").combine_chunks().dictionary_encode())
    (batch,) = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    numbers, texts = {key[0] for key in keys}, {key[1] for key in keys}
    expected = [place for place, (n, t) in enumerate(rows) if n in numbers and t in texts]
    assert KeyBounds(_table(keys)).candidates(batch).tolist() == expected


@pytest.mark.parametrize("of_type", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.int64()])
def test_integers_of_every_width_are_found(of_type: pa.DataType) -> None:
    values = pa.array([0, 1, 7, 100, None, 7], of_type)
    keys = pa.table({"n": pa.array([7, 100], of_type)})
    batch = pa.RecordBatch.from_arrays([values], ["n"])
    assert KeyBounds(keys).candidates(batch).tolist() == [2, 3, 5]


def test_zeros_of_both_signs_are_one_key() -> None:
    keys = pa.table({"f": pa.array([0.0])})
    batch = pa.RecordBatch.from_arrays([pa.array([-0.0, 0.0, 1.0])], ["f"])
    assert KeyBounds(keys).candidates(batch).tolist() == [0, 1, 2]  # floats rule nothing out


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_rows_of_some_row_groups_keep_their_numbers_in_the_file(
    sizes: list[int], data: Any
) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1)))
    starts = np.cumsum([0, *sizes])
    ends = np.cumsum(np.array(sizes)[chosen])
    groups = _Groups(tuple(chosen), ends, starts[1:][chosen] - ends, sum(sizes))
    expected = [row for n in chosen for row in range(starts[n], starts[n + 1])]
    assert groups.in_file(np.arange(ends[-1])).tolist() == expected


@pytest.mark.parametrize("length", [10, 5_000])  # few gaps, and so many that rows are copied
@given(st.data())
def test_what_is_left_of_a_batch_is_everything_else(length: int, data: Any) -> None:
    gone = data.draw(st.sets(st.integers(0, length - 1), max_size=length))
    if length > 10:
        gone |= set(range(0, length, 3))
    batch = pa.RecordBatch.from_arrays([pa.array(range(length))], ["n"])
    left = _without(batch, np.array(sorted(gone), np.int64))
    assert left.column("n").to_pylist() == [n for n in range(length) if n not in gone]
