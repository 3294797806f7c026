# SPDX-License-Identifier: Apache-2.0
"""What must hold for the compiled codec, datum by datum and over whole batches.

Where two things must be the same bytes, the reference says which. Behind the properties follow
regressions: what was once wrong, each by name.
"""

import math
import random
import struct
import time
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.kv import entries, judging, pairs
from scrub.codec.kv.faults import Code
from scrub.codec.kv.kinds import kind_number
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.python_datums import to_python
from scrub.codec.kv.rows import decode as read_rows
from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable
from tests.scrub.codec.kv import fast, reference_datums, reference_pairs
from tests.scrub.codec.kv.held_datums import from_python
from tests.scrub.codec.kv.reference_datums import INT64_MAX, INT64_MIN, Datum, Invalid
from tests.scrub.codec.kv.reference_pairs import Pair, Row, encode_value
from tests.scrub.codec.kv.strategies import (
    BYTE_STRINGS,
    KEY_LIKE_BYTES,
    all_pairs,
    as_keys_tell_it,
    datums,
    identity,
    key_types,
    mutated,
    rows,
    stored_pairs,
    tables,
)
from tests.scrub.codec.kv.test_reference_properties import (
    DIRECTIONS,
    EACH_KEY_TYPE,
    EACH_TYPE,
    as_values_tell_it,
    demand_that_a_key_reads_back,
    demand_that_keys_sort,
    demand_that_primary_keys_sort,
    name_of,
)

INT, DECIMAL, BYTES = (
    DatumType(DatumKind.INT),
    DatumType(DatumKind.DECIMAL),
    DatumType(DatumKind.BYTES),
)


# ----------------------------------------------------------------------------- datums


@DIRECTIONS
@EACH_KEY_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_a_key_reads_back_and_is_the_references(
    datum_type: DatumType, descending: bool, data: st.DataObject
) -> None:
    datum, key = demand_that_a_key_reads_back(
        fast.encode_key, fast.decode_key, datum_type, descending, data
    )
    assert key == reference_datums.encode_key(datum, datum_type, descending)


@EACH_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_a_value_reads_back_and_is_the_references(
    datum_type: DatumType, data: st.DataObject
) -> None:
    datum = data.draw(datums(datum_type))
    told = identity(as_values_tell_it(datum, datum_type))
    delta = data.draw(st.integers(0, 2**32 - 1))
    tagged = fast.encode_tagged(delta, datum, datum_type)
    assert tagged == reference_datums.encode_tagged(delta, datum, datum_type)
    (entry,) = fast.decode_tuple(tagged, 0, {delta: datum_type})
    assert (entry.column, identity(entry.datum)) == (delta, told)
    bare = fast.encode_legacy(datum, datum_type)
    assert bare == reference_datums.encode_legacy(datum, datum_type)
    assert identity(fast.decode_legacy(bare, datum_type)) == told
    assert fast.is_composite(datum, datum_type) == reference_datums.is_composite(datum, datum_type)


@EACH_TYPE
@given(data=st.data())
@settings(max_examples=10)
def test_a_held_form_is_the_object_it_was_made_from(
    datum_type: DatumType, data: st.DataObject
) -> None:
    datum = data.draw(datums(datum_type))
    kind = kind_number(datum_type)
    if DatumKind.COLLATED in (datum_type.kind, datum_type.element):
        datum = to_python(kind, fast.in_value(datum, datum_type))
    assert identity(to_python(kind, from_python(kind, datum))) == identity(datum)


@DIRECTIONS
@EACH_KEY_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_keys_sort_as_their_datums_do(
    datum_type: DatumType, descending: bool, data: st.DataObject
) -> None:
    demand_that_keys_sort(fast.encode_key, datum_type, descending, data)


@given(st.data())
@settings(max_examples=60)
def test_whole_keys_sort_as_their_rows_do(data: st.DataObject) -> None:
    demand_that_primary_keys_sort(fast.encode_row, data)


@given(key_types(), st.booleans(), KEY_LIKE_BYTES)
@settings(max_examples=1000)
def test_any_bytes_decode_as_in_the_reference(
    datum_type: DatumType, descending: bool, data: bytes
) -> None:
    """So that reading and writing again gives the same bytes exactly where they are canonical."""
    try:
        expected, end = reference_datums.decode_key(data, 0, datum_type, descending)
    except Invalid:
        with pytest.raises(Invalid) as raised:
            fast.decode_key(data, 0, datum_type, descending)
        assert 0 <= raised.value.position <= len(data)
        assert raised.value.expected
        return
    decoded, stop = fast.decode_key(data, 0, datum_type, descending)
    assert (identity(decoded), stop) == (identity(expected), end)
    again = fast.encode_key(decoded, datum_type, descending)
    assert again == reference_datums.encode_key(expected, datum_type, descending)
    if again == data[:stop]:
        assert identity(as_keys_tell_it(decoded, datum_type)) == identity(decoded)


@given(BYTE_STRINGS, BYTE_STRINGS.filter(len), st.booleans())
def test_what_is_around_a_value_reads_back(key: bytes, tag_and_data: bytes, deleted: bool) -> None:
    value = fast.encode_value(key, tag_and_data)
    assert value == encode_value(key, tag_and_data)
    stored = reference_pairs.encode_mvcc(key, value)
    assert fast.decode_mvcc(stored) == (key, value)
    wrapper = reference_pairs.encode_wrapper(tag_and_data, deleted)
    assert fast.decode_wrapper(wrapper) == (tag_and_data, deleted)


@given(st.binary(max_size=16) | st.builds(bytes.__add__, st.just(b"\x0a"), st.binary(max_size=8)))
@settings(max_examples=300)
def test_a_wrapper_is_what_the_reference_takes_for_one(message: bytes) -> None:
    try:
        expected = reference_pairs.decode_wrapper(message)
    except Invalid:
        with pytest.raises(Invalid):
            fast.decode_wrapper(message)
        return
    assert fast.decode_wrapper(message) == expected


# ----------------------------------------------------------------------------- batches


@st.composite
def tables_with_rows(draw: st.DrawFn) -> tuple[KvTable, list[Row]]:
    """Rows that differ in their primary key."""
    table = draw(tables())
    several = draw(st.lists(rows(table), min_size=1, max_size=5))
    by_key = {reference_pairs.encode_row(table, row)[0][0]: row for row in several}
    return table, list(by_key.values())


def stored(some: Sequence[Pair]) -> list[Pair]:
    return [(key, encode_value(key, tag_and_data)) for key, tag_and_data in some]


@given(tables_with_rows())
@settings(max_examples=100)
def test_batches_of_rows_are_the_references_pairs(sample: tuple[KvTable, list[Row]]) -> None:
    table, several = sample
    expected = [pair for row in several for pair in reference_pairs.encode_row(table, row)]
    assert fast.encode_rows(table, None, several) == stored(expected)
    for index in table.indexes:
        entries = [
            pair for row in several for pair in reference_pairs.encode_entry(table, index, row)
        ]
        assert fast.encode_rows(table, index, several) == stored(entries)


@given(tables_with_rows(), st.booleans())
@settings(max_examples=100)
def test_nothing_is_wrong_with_the_pairs_of_rows(
    sample: tuple[KvTable, list[Row]], with_header: bool
) -> None:
    table, several = sample
    everything = [pair for row in several for pair in all_pairs(table, row)]
    unset = [(key, bytes(4) + tag_and_data) for key, tag_and_data in everything]
    for some in (stored(everything), unset):
        headed = [(key, reference_pairs.encode_mvcc(b"header", value)) for key, value in some]
        assert fast.judge(table, headed if with_header else some) == []


@given(st.lists(tables_with_rows(), min_size=2, max_size=3, unique_by=lambda one: one[0].id))
@settings(max_examples=40)
def test_tables_may_share_a_batch(sample: list[tuple[KvTable, list[Row]]]) -> None:
    layout = layout_of([table for table, _ in sample])
    everything = [
        pair
        for table, several in sample
        for row in several
        for pair in stored(all_pairs(table, row))
    ]
    assert judging.judge(layout, *fast.arrays_of(everything)) == []
    other = fast.encode_rows(sample[0][0], None, sample[0][1])
    (unexpected, *_) = fast.judge(sample[1][0], other)
    assert unexpected.verdict == pairs.UNEXPECTED


@given(tables_with_rows())
@settings(max_examples=60)
def test_rows_decode_to_what_they_were_written_from(sample: tuple[KvTable, list[Row]]) -> None:
    table, several = sample
    layout = fast.layout_for(table)
    everything = stored([pair for row in several for pair in all_pairs(table, row)])
    decoded, bad = read_rows(layout, layout.primary(0), *fast.arrays_of(everything))
    assert bad == []
    by_key: dict[bytes, dict[int, bytes]] = {}
    for (key, _), spans in zip(everything, decoded.spans.tolist(), strict=True):
        known = by_key.setdefault(key, {})
        for column, (begin, end, part, part_end) in zip(table.columns, spans, strict=True):
            if begin >= 0:
                place = (part, part_end) if part >= 0 else (begin, end)
                known[column.id] = decoded.held[slice(*place)].tobytes()
    for row in several:
        found: dict[int, bytes] = {}
        for key, _ in reference_pairs.encode_row(table, row):
            found = by_key[key] | found  # only the first family's pair has parts of key columns
        assert found.keys() == {column for column, datum in row.items() if datum is not None}
        for column_id, held in found.items():
            datum_type = table.by_id[column_id].type
            told = as_values_tell_it(row[column_id], datum_type)
            decoded_datum = fast.with_one_nan(fast.from_value(held, datum_type))
            assert identity(decoded_datum) == identity(fast.with_one_nan(told))


def is_collated(table: KvTable, column: int) -> bool:
    return DatumKind.COLLATED in (table.by_id[column].type.kind, table.by_id[column].type.element)


# ----------------------------------------------------------------------------- entries


Entry = tuple[str, bytes, bytes, bytes]  # an index, the row's key, the entry's key and its value


def rows_tell(table: KvTable, index: KvIndex) -> bool:
    """Whether rows have what the entries' keys need: nobody can compute a collation key."""
    keys = {part.column for part in table.primary_key}
    return all(part.column in keys or not is_collated(table, part.column) for part in index.parts)


def read_entries(table: KvTable, some: Sequence[Pair]) -> tuple[list[Entry], list[Entry]]:
    """Those that rows ask for and those that are there, of indexes that can be compared."""
    layout = fast.layout_for(table)
    chosen = [index for index in table.indexes if rows_tell(table, index)]
    wanted = [layout.secondary(0, index.name) for index in chosen]
    read = entries.entries(layout, wanted, *fast.arrays_of(some))
    assert read.bad == []
    assert not read.lost
    of: dict[bool, list[Entry]] = {True: [], False: []}
    for number, expected, *entry in zip(
        read.indexes.tolist(),
        read.expected.tolist(),
        read.rows.to_pylist(),
        read.keys.to_pylist(),
        read.values.to_pylist(),
        strict=True,
    ):
        of[expected].append((str(layout.names[number]), *entry))
    return sorted(of[True]), sorted(of[False])


def reference_entries(table: KvTable, several: Sequence[Row]) -> list[Entry]:
    found = []
    for row in several:
        row_key = b"".join(
            reference_datums.encode_key(
                row[part.column], table.by_id[part.column].type, descending=False
            )
            for part in table.primary_key
        )
        for index in filter(lambda one: rows_tell(table, one), table.indexes):
            for key, tag_and_data in reference_pairs.encode_entry(table, index, row):
                found.append((index.name, row_key, key, tag_and_data))
    return sorted(found)


@given(tables_with_rows())
@settings(max_examples=200)
def test_rows_ask_for_the_entries_that_are_there(sample: tuple[KvTable, list[Row]]) -> None:
    table, several = sample
    # Two rows may have the same entry in a unique index, and a store only one of them.
    unique = {pair[0]: pair for row in several for pair in all_pairs(table, row)}
    if len(unique) < sum(len(all_pairs(table, row)) for row in several):
        several = several[:1]
    everything = stored([pair for row in several for pair in all_pairs(table, row)])
    expected, actual = read_entries(table, sorted(everything))
    assert expected == actual == reference_entries(table, several)


@given(tables_with_rows().filter(lambda one: len(one[0].families) == 1), st.randoms())
@settings(max_examples=50)
def test_rows_of_one_family_need_no_order(
    sample: tuple[KvTable, list[Row]], chance: random.Random
) -> None:
    table, several = sample
    everything = stored([pair for row in several[:1] for pair in all_pairs(table, row)])
    chance.shuffle(everything)
    expected, actual = read_entries(table, everything)
    assert expected == actual == reference_entries(table, several[:1])


@given(tables_with_rows(), st.data())
@settings(max_examples=100)
def test_a_row_without_its_first_family_is_missed_once(
    sample: tuple[KvTable, list[Row]], data: st.DataObject
) -> None:
    table, several = sample
    layout = fast.layout_for(table)
    wanted = [layout.secondary(0, index.name) for index in table.indexes]
    of_row = [reference_pairs.encode_row(table, row) for row in several]
    chosen = data.draw(st.integers(0, len(of_row) - 1))
    rest = [*of_row[:chosen], of_row[chosen][1:], *of_row[chosen + 1 :]]
    some = sorted(stored([pair for one in rest for pair in one]))
    read = entries.entries(layout, wanted, *fast.arrays_of(some))
    if len(of_row[chosen]) == 1:
        assert read.bad == []
    else:
        (missing,) = read.bad
        assert some[missing.number][0] == of_row[chosen][1][0]
        assert missing.verdict == pairs.MISSING
        assert missing.code is Code.NO_FIRST_FAMILY
        assert missing.index == layout.primary(0)
        assert 0 < missing.position < len(some[missing.number][0])
    assert not read.lost


# ----------------------------------------------------------------------------- damage


@given(tables().flatmap(lambda one: st.tuples(st.just(one), st.lists(mutated(stored_pairs(one))))))
@settings(max_examples=60)
def test_damaged_pairs_are_judged_as_by_the_reference(sample: tuple[KvTable, list[Pair]]) -> None:
    table, damaged = sample
    expected = [reference_pairs.classify_pair(table, *pair) for pair in damaged]
    assert fast.classify_pairs(table, damaged) == expected
    for bad in fast.judge(table, damaged):
        source = damaged[bad.number][1 if bad.in_value else 0]
        assert 0 <= bad.position <= len(source)
        assert bad.expected
        assert (bad.index is None) == (bad.verdict == pairs.UNEXPECTED)


def test_every_fault_has_a_text() -> None:
    assert all(code.text for code in Code if code is not Code.NONE)


GOODS = KvTable(
    id=51,
    name="goods",
    columns=(
        KvColumn(1, "id", INT, nullable=False),
        KvColumn(2, "name", BYTES),
        KvColumn(3, "price", DECIMAL),
    ),
    primary_key=(KeyPart(1),),
    families=(Family(0, (1, 2, 3)),),
    indexes=(KvIndex(2, "by_price", (KeyPart(3),), suffix=(1,), stored=(2,)),),
)


def test_one_bad_pair_in_a_million_is_found() -> None:
    row = {1: 7, 2: b"a name", 3: Decimal("1.50")}
    keys, values = fast.arrays_of(stored(all_pairs(GOODS, row)))
    many = pa.array(np.tile(np.arange(2), 500_000))
    keys, values = keys.take(many), values.take(many)
    bad_key, bad_value = fast.arrays_of([(b"\xbb\x89\x8f\x88", bytes(4) + b"\x0a\x26\x09a")])
    place = 612_345
    keys = pa.concat_arrays([keys[:place], bad_key, keys[place + 1 :]])
    values = pa.concat_arrays([values[:place], bad_value, values[place + 1 :]])
    begin = time.monotonic()
    assert judging.judge(fast.layout_for(GOODS), keys, values) == [
        judging.BadPair(place, pairs.INVALID, 0, Code.LENGTH, 6, True)
    ]
    assert time.monotonic() - begin < 30


# ----------------------------------------------------------------------------- regressions


FLOATS = DatumType(DatumKind.ARRAY, DatumKind.FLOAT)
INTS = DatumType(DatumKind.ARRAY, DatumKind.INT)


def table_of(*types: DatumType, **others: object) -> KvTable:
    """Columns 1, 2 and so on, the first of them the key, and all in one family."""
    columns = tuple(
        KvColumn(number, f"c{number}", datum_type) for number, datum_type in enumerate(types, 1)
    )
    told = {
        "primary_key": (KeyPart(1),),
        "families": (Family(0, tuple(column.id for column in columns)),),
    }
    return KvTable(id=51, name="table", columns=columns, **(told | others))  # type: ignore[arg-type]


def read(table: KvTable, some: Sequence[Pair]) -> entries.Entries:
    layout = fast.layout_for(table)
    wanted = [layout.secondary(0, index.name) for index in table.indexes]
    return entries.entries(layout, wanted, *fast.arrays_of(some))


def test_seconds_that_overflow_are_invalid() -> None:
    """Compiled code took it for granted that adding signed numbers never overflows."""
    table = table_of(INT, DatumType(DatumKind.ARRAY, DatumKind.TIMESTAMP))
    body = bytes.fromhex("010801ffffffffffffffffff0101")
    key = bytes.fromhex("bb898988")
    value = encode_value(key, b"\x0a\x2d" + bytes([len(body)]) + body)
    assert fast.classify_pair(table, key, value) == "invalid_encoding"


@pytest.mark.parametrize("months", [INT64_MAX // 30 + 1, INT64_MAX // 30, INT64_MAX, INT64_MIN])
@pytest.mark.parametrize("days", [INT64_MIN, INT64_MAX, 0])
@DIRECTIONS
def test_months_may_be_taken_back_by_days(months: int, days: int, descending: bool) -> None:
    numbers = [reference_datums.encode_signed(number, descending) for number in (0, months, days)]
    data, interval = b"\x16" + b"".join(numbers), DatumType(DatumKind.INTERVAL)
    try:
        expected = reference_datums.decode_key(data, 0, interval, descending)
    except Invalid:
        with pytest.raises(Invalid):
            fast.decode_key(data, 0, interval, descending)
    else:
        assert fast.decode_key(data, 0, interval, descending) == expected
        assert fast.encode_key(expected[0], interval, descending) == data


@pytest.mark.parametrize("offset", [INT64_MAX, INT64_MIN, INT64_MAX // 10**6, INT64_MIN // 10**6])
@pytest.mark.parametrize("instant", [INT64_MAX, INT64_MIN, 0])
def test_an_offset_that_overflows_is_invalid(offset: int, instant: int) -> None:
    numbers = [
        reference_datums.encode_signed(number, descending=False) for number in (instant, offset)
    ]
    data, timetz = b"\x3c" + b"".join(numbers), DatumType(DatumKind.TIMETZ)
    try:
        expected = reference_datums.decode_key(data, 0, timetz, descending=False)
    except Invalid:
        with pytest.raises(Invalid):
            fast.decode_key(data, 0, timetz, descending=False)
    else:
        assert fast.decode_key(data, 0, timetz, descending=False) == expected


@pytest.mark.parametrize(
    ("kind", "datum", "sum_in_key"),
    [
        (DatumKind.INTERVAL, (12_000, 0, 0), INT64_MAX),
        (DatumKind.INTERVAL, (-12_000, 0, INT64_MAX), INT64_MIN),
        (DatumKind.INTERVAL, (3000, 0, INT64_MAX), INT64_MAX),
        (DatumKind.INTERVAL, (0, -106_751, INT64_MIN), INT64_MIN),
        (DatumKind.INTERVAL, (INT64_MAX, INT64_MIN, 0), INT64_MAX),
        (DatumKind.INTERVAL, (INT64_MIN // 30, INT64_MAX, 0), None),
        (DatumKind.INTERVAL, (INT64_MAX // 30 + 1, -1, 0), INT64_MAX),
        (DatumKind.INTERVAL, (INT64_MIN // 30 - 1, 0, 0), INT64_MIN),
        (DatumKind.TIMETZ, (INT64_MAX, 1), INT64_MAX),
        (DatumKind.TIMETZ, (INT64_MIN, -1), INT64_MIN),
        (DatumKind.TIMETZ, (0, INT64_MAX), INT64_MAX),
        (DatumKind.TIMETZ, (INT64_MAX, INT64_MIN), INT64_MIN),
    ],
)
@DIRECTIONS
def test_a_sum_that_overflows_64_bits_stays_at_the_end_of_the_keys(
    kind: DatumKind, datum: tuple[int, ...], sum_in_key: int | None, descending: bool
) -> None:
    """It wrapped around, so that a row too large for a key was expected among the smallest."""
    key = fast.encode_key(datum, DatumType(kind), descending)
    assert key == reference_datums.encode_key(datum, DatumType(kind), descending)
    if sum_in_key is not None:
        assert key[1:].startswith(reference_datums.encode_signed(sum_in_key, descending))


def test_a_padded_first_family_needs_a_length() -> None:
    for family, expected in [
        ("88", None),
        ("8889", "noncanonical_encoding"),
        ("f600", "invalid_encoding"),
        ("f6008a", "noncanonical_encoding"),
    ]:
        key = bytes.fromhex("bb8989" + family)
        assert fast.classify_pair(table_of(INT), key, encode_value(key, b"\x0a")) == expected


def test_an_index_has_families_where_only_the_first_is_not_told() -> None:
    index = KvIndex(2, "index", (KeyPart(2),), suffix=(1,), stored=(3,), by_family=True)
    table = table_of(INT, INT, INT, families=(Family(4, (2, 3)),), indexes=(index,))
    row = {1: 1, 2: 2, 3: 3}
    assert len(fast.encode_entry(table, index, row)) == 2
    assert fast.encode_entry(table, index, row) == reference_pairs.encode_entry(table, index, row)


@pytest.mark.parametrize(
    ("datum_type", "datum"),
    [
        (INTS, [None] * 9000),  # a bit each in a value and a byte in a key
        (FLOATS, [-0.0] + [-1.5] * 4000),  # in the key and, being composite, in the value
        (DECIMAL, Decimal((0, (7,) * 6000 + (0,), 0))),
        (BYTES, b"\x00" * 9000),
        (DatumType(DatumKind.ARRAY, DatumKind.BYTES), [b""] * 5000),
        (DatumType(DatumKind.ARRAY, DatumKind.BIT), [""] * 5000),
        (DatumType(DatumKind.ARRAY, DatumKind.INTERVAL), [(60, 0, 0)] * 3000),
        (DatumType(DatumKind.ARRAY, DatumKind.TIMETZ), [(0, 60)] * 3000),
    ],
    ids=lambda one: name_of(one) if isinstance(one, DatumType) else "",
)
def test_there_is_room_for_what_grows(datum_type: DatumType, datum: Datum) -> None:
    """A column that is in the key, and in a unique index also in the value, may grow in both."""
    index = KvIndex(2, "index", (KeyPart(2),), suffix=(1,), unique=True)
    table = table_of(datum_type, datum_type, indexes=(index,))
    several = [{1: datum, 2: datum}, {1: datum, 2: None}] * 3
    of_rows = [reference_pairs.encode_row(table, row)[0] for row in several]
    of_index = [reference_pairs.encode_entry(table, index, row)[0] for row in several]
    assert fast.encode_rows(table, None, several) == stored(of_rows)
    assert fast.encode_rows(table, index, several) == stored(of_index)
    everything = stored(of_rows + of_index)
    assert fast.judge(table, everything) == []
    found = read(table, everything)
    assert found.bad == []
    assert found.expected.tolist() == [True] * len(several) + [False] * len(several)
    assert found.keys.to_pylist() == 2 * [key for key, _ in of_index]
    assert found.values.to_pylist() == 2 * [value for _, value in of_index]


FAMILIES = (Family(0, (1, 2)), Family(1, (3,)))
BY_FAMILY = KvIndex(
    2, "index", (KeyPart(2),), suffix=(1,), stored=(3,), unique=True, by_family=True
)


def test_the_same_pair_again_and_again_is_a_row_each_time() -> None:
    """All of them were once added to one row, beyond the room that was made for it."""
    table = table_of(INT, INT, INT, families=FAMILIES, indexes=(BY_FAMILY,))
    first, second = stored(reference_pairs.encode_row(table, {1: 1, 2: 2, 3: 3}))
    found = read(table, [first] * 5000)
    assert found.bad == []
    assert len(found.keys) == 5000
    found = read(table, [first, second] * 5000)
    assert found.bad == []
    assert len(found.keys) == 2 * 5000
    assert {bad.verdict for bad in read(table, [second] * 5000).bad} == {pairs.MISSING}


def test_many_spellings_of_a_family_do_not_outgrow_the_room() -> None:
    table = table_of(INT, INT, INT, families=FAMILIES, indexes=(BY_FAMILY,))
    key = bytes.fromhex("bb8989")
    spellings = [(0, "88"), (0, "8889"), (1, "8989")]
    for count in range(1, 9):
        for family in (0, 1):
            padded = f"{0xF5 + count:02x}{family:0{2 * count}x}{0x89 + count:02x}"
            spellings.append((family, padded))
    some = []
    for family, spelled in spellings:
        whole = key + bytes.fromhex(spelled)
        column = b"\x03\x02" * 40  # the same again and again
        some.append(
            (whole, encode_value(whole, bytes([0x0A, 0x33 if family else 0x23, 2]) + column))
        )
    some = sorted(some)
    found = read(table, some)
    assert found.bad == fast.judge(table, some)


def test_a_first_pair_that_cannot_be_read_is_not_missing_too() -> None:
    table = table_of(INT, INT, INT, families=FAMILIES, indexes=(BY_FAMILY,))
    (key, _), second = stored(reference_pairs.encode_row(table, {1: 1, 2: 2, 3: 3}))
    found = read(table, [(key, b"\x00\x00\x00\x00\x0a\x26"), second])
    assert [bad.verdict for bad in found.bad] == [pairs.INVALID]
    assert found.lost
    assert len(found.keys) == 0


def test_a_part_of_another_number_is_not_held_against_the_next_family() -> None:
    table = table_of(DECIMAL, INT, INT, families=FAMILIES)
    (key, _), second = stored(reference_pairs.encode_row(table, {1: Decimal(1), 2: 2, 3: 3}))
    wrong = reference_datums.encode_tuple({1: Decimal("2.0"), 2: 2}, {1: DECIMAL, 2: INT})
    some = [(key, encode_value(key, b"\x0a" + wrong)), second]
    assert [bad.verdict for bad in read(table, some).bad] == [pairs.COMPOSITE]


def test_entries_of_other_families_know_their_row() -> None:
    """In a unique index only the first family's entry tells it."""
    table = table_of(INT, INT, INT, families=FAMILIES, indexes=(BY_FAMILY,))
    row = {1: 1, 2: 2, 3: 3}
    expected, actual = read_entries(table, sorted(stored(all_pairs(table, row))))
    assert len(actual) == 2
    assert expected == actual
    assert {entry[1] for entry in actual} == {b"\x89"}


def test_a_composite_in_the_value_of_a_unique_entry_has_its_place() -> None:
    """Its place was counted from the key, and fell before it."""
    index = KvIndex(2, "index", (KeyPart(2),), suffix=(1,), unique=True)
    table = table_of(DECIMAL, INT, indexes=(index,))
    key = bytes.fromhex("bb8a8a88")
    for tuple_, code in [(b"", Code.COMPOSITE_MISSING), (b"\x13\x02", Code.COMPOSITE_TYPE)]:
        value = encode_value(key, b"\x03\x27" + tuple_)
        (bad,) = fast.judge(table, [(key, value)])
        assert (bad.verdict, bad.code, bad.in_value) == (pairs.COMPOSITE, code, True)
        assert 5 <= bad.position < len(value)


def test_an_array_without_anything_ends_where_it_begins() -> None:
    """Of a column that does not belong there; the place of the fault was beyond the value."""
    key = bytes.fromhex("bb898988")
    value = encode_value(key, bytes.fromhex("0a8d0d00"))
    (bad,) = fast.judge(table_of(INT), [(key, value)])
    assert (bad.verdict, bad.position) == (pairs.INVALID, len(value))


def test_a_bare_collated_string_is_its_contents() -> None:
    table = table_of(
        INT,
        DatumType(DatumKind.COLLATED),
        families=(Family(0, (1,)), Family(1, (2,), default=2)),
    )
    row = {1: 1, 2: (b"key", b"contents")}
    assert fast.encode_row(table, row) == reference_pairs.encode_row(table, row)


def test_arrow_arrays_may_be_empty_sliced_chunked_or_have_null() -> None:
    layout = fast.layout_for(GOODS)
    key, value = fast.arrays_of(stored(all_pairs(GOODS, {1: 7, 2: b"name", 3: None})))
    for nothing in (key[:0], pa.array([], pa.binary()), pa.chunked_array([], pa.binary())):
        assert judging.judge(layout, nothing, nothing) == []
        assert len(entries.entries(layout, [1], nothing, nothing).keys) == 0
    assert judging.judge(layout, key[1:], value[1:]) == []
    assert judging.judge(layout, pa.chunked_array([key, key]), pa.chunked_array([value] * 2)) == []
    # Bytes that a NULL hides are not read.
    hidden = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), 1, [pa.py_buffer(b"\x00"), *value[:1].buffers()[1:]]
    )
    (bad,) = judging.judge(layout, key[:1], hidden)
    assert bad.code is Code.TOMBSTONE


def test_decimals_and_bits_of_nan_are_exact() -> None:
    value = Decimal((1, (7,) * 5000 + (0,), -2500))
    for descending in (False, True):
        key = fast.encode_key(value, DECIMAL, descending)
        assert key == reference_datums.encode_key(value, DECIMAL, descending)
        decoded, _ = fast.decode_key(key, 0, DECIMAL, descending)
        assert identity(decoded) == identity(as_keys_tell_it(value, DECIMAL))
    odd = struct.unpack(">d", bytes.fromhex("fff0000000000123"))[0]
    assert math.isnan(odd)
    row = {1: 1, 2: odd}
    table = table_of(INT, DatumType(DatumKind.FLOAT))
    assert fast.encode_row(table, row) == reference_pairs.encode_row(table, row)
    assert fast.judge(table, stored(reference_pairs.encode_row(table, row))) == []
