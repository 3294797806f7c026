# SPDX-License-Identifier: Apache-2.0
"""What must hold for the reference whatever the datums: it reads what it writes, and keys sort.

The order of keys is compared with the order of the datums, which is defined here once more and
without bytes. Damaged pairs must be judged, whatever they hold.
"""

import math
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable
from tests.scrub.codec.kv.reference_datums import (
    DAYS_PER_MONTH,
    MICROS_PER_SECOND,
    NANOS_PER_DAY,
    Datum,
    Invalid,
    decode_key,
    decode_legacy,
    decode_tuple,
    encode_key,
    encode_legacy,
    encode_tagged,
    encode_tuple,
    is_composite,
)
from tests.scrub.codec.kv.reference_pairs import (
    Pair,
    Row,
    classify_pair,
    decode_mvcc,
    decode_value,
    decode_wrapper,
    encode_entry,
    encode_mvcc,
    encode_row,
    encode_value,
    encode_wrapper,
)
from tests.scrub.codec.kv.strategies import (
    ALL_TYPES,
    BYTE_STRINGS,
    KEY_LIKE_BYTES,
    KEY_TYPES,
    all_pairs,
    as_keys_tell_it,
    datum_types,
    datums,
    identity,
    key_types,
    mutated,
    rows,
    stored_pairs,
    tables,
)


def name_of(datum_type: DatumType) -> str:
    return datum_type.kind + (f"-{datum_type.element}" if datum_type.element else "")


Encode = Callable[[Datum | None, DatumType, bool], bytes]
Decode = Callable[[bytes, int, DatumType, bool], tuple[Datum | None, int]]

FAULTS = {
    None,
    "unexpected_key",
    "invalid_encoding",
    "invalid_composite_encoding",
    "noncanonical_encoding",
}
DIRECTIONS = pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
EACH_TYPE = pytest.mark.parametrize("datum_type", ALL_TYPES, ids=name_of)
EACH_KEY_TYPE = pytest.mark.parametrize("datum_type", KEY_TYPES, ids=name_of)


# ----------------------------------------------------------------------------- order


def order_of(datum: Datum | None, datum_type: DatumType) -> tuple[object, ...]:
    """Compares as the datums of a type do: NULL first, then NaN, then the rest."""
    if datum is None:
        return (0,)
    match datum_type.kind:
        case DatumKind.FLOAT:
            return (1,) if math.isnan(datum) else (2, datum + 0.0)
        case DatumKind.DECIMAL:
            return (1,) if datum.is_nan() else (2, datum)
        case DatumKind.COLLATED:
            return (2, datum[0])
        case DatumKind.INTERVAL:
            months, days, nanos = datum
            total = (months * DAYS_PER_MONTH + days) * NANOS_PER_DAY + nanos
            return (2, total, months, days)
        case DatumKind.TIMETZ:
            micros, offset = datum
            return (2, micros + offset * MICROS_PER_SECOND, offset)
        case DatumKind.ARRAY:
            assert datum_type.element is not None
            return (2, [order_of(element, DatumType(datum_type.element)) for element in datum])
        case _:
            return (2, datum)


def sign(first: object, second: object) -> int:
    """-1, 0 or 1; the two are of one type and compare."""
    return 0 if first == second else -1 if first < second else 1  # type: ignore[operator]


def demand_that_keys_sort(
    encode: Encode, datum_type: DatumType, descending: bool, data: st.DataObject
) -> None:
    first, second = data.draw(st.tuples(*[st.none() | datums(datum_type)] * 2))
    expected = sign(order_of(first, datum_type), order_of(second, datum_type))
    keys = [encode(datum, datum_type, descending) for datum in (first, second)]
    assert sign(*keys) == (-expected if descending else expected)


def demand_that_primary_keys_sort(
    encode: Callable[[KvTable, Row], list[Pair]], data: st.DataObject
) -> None:
    table = data.draw(tables())
    both = data.draw(rows(table)), data.draw(rows(table))
    expected = 0
    for part in table.primary_key:
        datum_type = table.by_id[part.column].type
        order = sign(*(order_of(row[part.column], datum_type) for row in both))
        expected = expected or (-order if part.descending else order)
    first, second = (encode(table, row)[0][0] for row in both)
    assert sign(first, second) == expected


@DIRECTIONS
@EACH_KEY_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_keys_sort_as_their_datums_do(
    datum_type: DatumType, descending: bool, data: st.DataObject
) -> None:
    demand_that_keys_sort(encode_key, datum_type, descending, data)


@given(st.data())
@settings(max_examples=60)
def test_primary_keys_sort_as_their_rows_do(data: st.DataObject) -> None:
    demand_that_primary_keys_sort(encode_row, data)


# ----------------------------------------------------------------------------- round trips


def demand_that_a_key_reads_back(
    encode: Encode, decode: Decode, datum_type: DatumType, descending: bool, data: st.DataObject
) -> tuple[Datum | None, bytes]:
    """Between other bytes; gives the datum and its key."""
    datum = data.draw(st.none() | datums(datum_type))
    before, behind = data.draw(st.binary(max_size=3)), data.draw(st.binary(max_size=3))
    key = encode(datum, datum_type, descending)
    decoded, end = decode(before + key + behind, len(before), datum_type, descending)
    assert end == len(before) + len(key)
    assert identity(decoded) == identity(as_keys_tell_it(datum, datum_type))
    return datum, key


@DIRECTIONS
@EACH_KEY_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_a_key_reads_back(datum_type: DatumType, descending: bool, data: st.DataObject) -> None:
    demand_that_a_key_reads_back(encode_key, decode_key, datum_type, descending, data)


@EACH_TYPE
@given(data=st.data())
@settings(max_examples=20)
def test_a_value_reads_back(datum_type: DatumType, data: st.DataObject) -> None:
    datum = data.draw(datums(datum_type))
    told = as_values_tell_it(datum, datum_type)
    delta = data.draw(st.integers(0, 2**32 - 1))
    (entry,) = decode_tuple(encode_tagged(delta, datum, datum_type), 0, {delta: datum_type})
    assert (entry.column, entry.fits) == (delta, True)
    assert identity(entry.datum) == identity(told)
    legacy = encode_legacy(datum, datum_type)
    assert identity(decode_legacy(legacy, datum_type)) == identity(told)


def as_values_tell_it(datum: Datum | None, datum_type: DatumType) -> Datum | None:
    """The value side has no collation keys."""
    match datum, datum_type:
        case (_, contents), DatumType(kind=DatumKind.COLLATED):
            return (None, contents)
        case list(), DatumType(element=DatumKind.COLLATED):
            element = DatumType(DatumKind.COLLATED)
            return [as_values_tell_it(one, element) for one in datum]
        case _:
            return datum


@given(st.data())
@settings(max_examples=100)
def test_a_tuple_reads_back_with_and_without_knowing_its_columns(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(1, 3000), max_size=6, unique=True))
    types = {column: data.draw(datum_types()) for column in ids}
    row = {column: data.draw(st.none() | datums(types[column])) for column in ids}
    written = encode_tuple(row, types)
    known = {column: as_values_tell_it(datum, types[column]) for column, datum in row.items()}
    expected = [
        (column, identity(known[column])) for column in sorted(ids) if known[column] is not None
    ]
    entries = decode_tuple(written, 0, types)
    assert [(entry.column, identity(entry.datum)) for entry in entries] == expected
    by_tags = decode_tuple(written, 0, {})
    assert [entry.column for entry in by_tags] == [column for column, _ in expected]


@given(BYTE_STRINGS, BYTE_STRINGS.filter(len), st.booleans())
def test_what_is_around_a_value_reads_back(key: bytes, tag_and_data: bytes, deleted: bool) -> None:
    value = encode_value(key, tag_and_data)
    assert decode_value(key, value) == tag_and_data
    assert decode_mvcc(encode_mvcc(key, value)) == (key, value)
    assert decode_wrapper(encode_wrapper(tag_and_data, deleted)) == (tag_and_data, deleted)


@given(st.data())
@settings(max_examples=300)
def test_a_key_tells_everything_about_a_datum_that_is_not_composite(data: st.DataObject) -> None:
    datum_type = data.draw(key_types())
    datum = data.draw(datums(datum_type))
    key = encode_key(datum, datum_type, descending=False)
    decoded, _ = decode_key(key, 0, datum_type, descending=False)
    if not is_composite(datum, datum_type):
        # Except for the bits of a NaN, which nobody can see.
        assert identity(decoded) == identity(with_one_nan(datum))


def with_one_nan(datum: Datum | None) -> Datum | None:
    if isinstance(datum, list):
        return [with_one_nan(element) for element in datum]
    return math.nan if isinstance(datum, float) and math.isnan(datum) else datum


# ----------------------------------------------------------------------------- anything


@given(key_types(), st.booleans(), KEY_LIKE_BYTES)
@settings(max_examples=500)
def test_whatever_decodes_has_one_canonical_key(
    datum_type: DatumType, descending: bool, data: bytes
) -> None:
    try:
        datum, end = decode_key(data, 0, datum_type, descending)
    except Invalid:
        return
    assert 0 < end <= len(data)
    canonical = encode_key(datum, datum_type, descending)
    again, _ = decode_key(canonical, 0, datum_type, descending)
    assert identity(again) == identity(datum)
    assert encode_key(again, datum_type, descending) == canonical


@given(st.data())
@settings(max_examples=80)
def test_nothing_is_wrong_with_the_pairs_of_a_row(data: st.DataObject) -> None:
    table = data.draw(tables())
    row = data.draw(rows(table))
    pairs = all_pairs(table, row)
    assert len({key for key, _ in pairs}) == len(pairs)
    for key, tag_and_data in pairs:
        assert classify_pair(table, key, encode_value(key, tag_and_data)) is None
        assert classify_pair(table, key, bytes(4) + tag_and_data) is None


@given(st.data())
@settings(max_examples=80)
def test_an_index_has_an_entry_for_every_row(data: st.DataObject) -> None:
    """Two rows have the same entry key only in a unique index, and never where it has NULL."""
    table = data.draw(tables().filter(lambda table: bool(table.indexes)))
    index = data.draw(st.sampled_from(table.indexes))
    first, second = data.draw(rows(table)), data.draw(rows(table))
    entries = [encode_entry(table, index, row)[0][0] for row in (first, second)]
    same_row = encode_row(table, first)[0][0] == encode_row(table, second)[0][0]
    with_null = any(first[part.column] is None for part in index.parts)
    if entries[0] == entries[1] and not (index.unique and not with_null):
        assert same_row


def table_and_damaged_pair() -> st.SearchStrategy[tuple[KvTable, tuple[bytes, bytes]]]:
    return tables().flatmap(lambda table: st.tuples(st.just(table), mutated(stored_pairs(table))))


@given(table_and_damaged_pair())
@settings(max_examples=100)
def test_every_damaged_pair_is_judged(damaged: tuple[KvTable, tuple[bytes, bytes]]) -> None:
    table, (key, value) = damaged
    assert classify_pair(table, key, value) in FAULTS


def test_damage_leads_to_every_fault() -> None:
    """A mutation that only ever gave one of them would test little."""
    table = KvTable(
        id=51,
        name="table",
        columns=(
            KvColumn(1, "price", DatumType(DatumKind.DECIMAL), nullable=False),
            KvColumn(2, "name", DatumType(DatumKind.COLLATED)),
            KvColumn(3, "count", DatumType(DatumKind.INT)),
        ),
        primary_key=(KeyPart(1),),
        families=(Family(0, (1, 2, 3)),),
        indexes=(KvIndex(2, "by_name", (KeyPart(2),), suffix=(1,), stored=(3,)),),
    )
    seen: set[str | None] = set()

    @given(mutated(stored_pairs(table)))
    @settings(max_examples=200, database=None)
    def collect(pair: tuple[bytes, bytes]) -> None:
        seen.add(classify_pair(table, *pair))

    for number in range(50):  # a rare one may not come up at once
        # Without a seed of its own, a suite that runs derandomized draws the same pairs each time.
        seed(number)(collect)()
        if seen == FAULTS:
            break
    assert seen == FAULTS


def test_decimals_of_any_length_are_exact() -> None:
    value = Decimal((1, (7,) * 5000 + (0,), -2500))
    decimal = DatumType(DatumKind.DECIMAL)
    (entry,) = decode_tuple(encode_tagged(1, value, decimal), 0, {1: decimal})
    assert identity(entry.datum) == identity(value)
    for descending in (False, True):
        decoded, _ = decode_key(encode_key(value, decimal, descending), 0, decimal, descending)
        assert identity(decoded) == identity(as_keys_tell_it(value, decimal))
