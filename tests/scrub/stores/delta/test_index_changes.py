# SPDX-License-Identifier: Apache-2.0
"""What comes and what goes, after the same on both sides has cancelled out."""

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.stores.delta import index_changes
from scrub.stores.delta.index_changes import ChangeSum

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
ROWS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", ""]), st.sampled_from([None, 0, 1])), max_size=12
)


def table(rows: Any) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def counted(entries: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in entries.to_pylist())


@pytest.mark.parametrize("sift_rows", [0, 10_000], ids=["sifted", "compared"])
@given(came=ROWS, went=ROWS)
def test_what_both_sides_have_cancels_out_copy_by_copy(
    sift_rows: int, came: Any, went: Any
) -> None:
    total = ChangeSum(SCHEMA)
    for rows, add in ((came, total.came), (went, total.went)):
        add(table(rows[:5]))
        add(table(rows[5:]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_changes, "SIFT_ROWS", sift_rows)
        changes = total.result()
    assert counted(changes.added) == Counter(came) - Counter(went)
    assert counted(changes.taken) == Counter(went) - Counter(came)
    assert changes.entries == len(changes.added) + len(changes.taken)


def test_zeros_and_nans_of_rewritten_rows_cancel_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_changes, "SIFT_ROWS", 0)
    schema = pa.schema([("x", pa.float64())])
    total = ChangeSum(schema)
    total.went(pa.table({"x": [0.0, math.nan, None, 1.5]}))
    total.came(pa.table({"x": [-0.0, math.nan, None, 2.5]}))
    changes = total.result()
    assert changes.taken.to_pylist() == [{"x": 1.5}]
    assert changes.added.to_pylist() == [{"x": 2.5}]
