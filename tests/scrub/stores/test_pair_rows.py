# SPDX-License-Identifier: Apache-2.0
"""What pairs tell of rows, over tables of all kinds, and over bytes that are wrong."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.kv.field import HELD
from scrub.codec.kv.pairs import NONCANONICAL
from scrub.codec.kv.rows import decode
from scrub.stores.pair_rows import TABLE, Pair, PairRows
from tests.checks.pairs.pair_ground import stored
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row
from tests.scrub.codec.kv.strategies import mutated, rows, stored_pairs, tables


@given(data=st.data())
@settings(max_examples=60)
def test_entries_tell_their_row_and_rows_their_entries(data: st.DataObject) -> None:
    table = data.draw(tables())
    row = data.draw(rows(table))
    pairs = PairRows(table)
    of_row = stored(encode_row(table, row))
    for index in table.indexes:
        if pairs.obstacle(index.name):
            continue
        entries = stored(encode_entry(table, index, row))
        assert sorted(pairs.demanded(index.name, of_row) or ()) == sorted(entries)
        assert pairs.demanded(index.name, []) == []
        for entry in entries:
            (told,) = pairs.rows_told(index.name, entry)
            assert {key for key, _ in of_row} <= set(pairs.row_keys(told))
            assert pairs.is_owner_known(index.name, entry)
            assert pairs.canonical(index.name, entry) == entry
            assert pairs.strange_columns(index.name, entry) == []
    for pair in of_row:
        assert pairs.rewritten(pair) == pair


@given(data=st.data())
@settings(max_examples=100)
def test_a_pair_that_is_rewritten_keeps_its_key_and_all_that_it_says(data: st.DataObject) -> None:
    table = data.draw(tables())
    pair = data.draw(mutated(stored_pairs(table)))
    pairs = PairRows(table)
    for index in table.indexes:
        pairs.rows_told(index.name, pair)
        pairs.is_owner_known(index.name, pair)
        pairs.canonical(index.name, pair)
        pairs.strange_columns(index.name, pair)
    spelled = pairs.rewritten(pair)
    if spelled is not None:
        assert spelled[0] == pair[0]
        assert pairs.trouble(spelled) is None
        assert told_by(pairs, spelled) == told_by(pairs, pair)
        assert pairs.strange_columns(TABLE, pair) == []
        trouble = pairs.trouble(pair)
        assert trouble is None or trouble.verdict == NONCANONICAL


def told_by(pairs: PairRows, pair: Pair) -> list[bytes | None]:
    key, value = (pa.array([part], pa.binary()) for part in pair)
    datums, _ = decode(pairs.layout, pairs.primary, key, value)
    return [
        datums.held[span[place] : span[place + 1]].tobytes() if span[place] >= 0 else None
        for span in datums.spans[0].tolist()
        for place in (HELD, HELD + 2)
    ]
