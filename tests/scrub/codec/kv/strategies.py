# SPDX-License-Identifier: Apache-2.0
"""Datums, tables and rows at random, with the edges of the format more often than chance has them.

Also pairs that are damaged at random, and what it means that two datums are the same. All bytes are
the reference's, so that it and any other codec can be given the same pairs.
"""

import math
import struct
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable
from tests.scrub.codec.kv.reference_datums import (
    DAYS_PER_MONTH,
    INT64_MAX,
    INT64_MIN,
    NANOS_PER_DAY,
    Datum,
)
from tests.scrub.codec.kv.reference_pairs import (
    CHECKSUM_LENGTH,
    Pair,
    Row,
    encode_entry,
    encode_row,
    encode_value,
)

# ----------------------------------------------------------------------------- the same datum


def identity(datum: Datum | None) -> object:
    """Equal for datums that are the same in every bit, which == is not for floats and decimals."""
    match datum:
        case float():
            return "float", struct.pack(">d", datum)
        case Decimal():
            return "decimal", datum.as_tuple()
        case list():
            return [identity(element) for element in datum]
        case _:
            return type(datum).__name__, datum


def as_keys_tell_it(datum: Datum | None, datum_type: DatumType) -> Datum | None:
    """What is left of a datum in a key: no sign of zero, no scale, no contents of a text."""
    match datum, datum_type.kind:
        case float(), _:
            return math.nan if math.isnan(datum) else datum + 0.0
        case Decimal(), _ if datum.is_finite():
            sign, digits, exponent = datum.as_tuple()
            assert isinstance(exponent, int)
            if datum.is_zero():
                return Decimal(0)
            kept = "".join(map(str, digits)).rstrip("0")
            dropped = len(digits) - len(kept)
            return Decimal((sign, tuple(map(int, kept)), exponent + dropped))
        case (collation_key, _), DatumKind.COLLATED:
            return (collation_key, None)
        case list(), _:
            assert datum_type.element is not None
            return [as_keys_tell_it(element, DatumType(datum_type.element)) for element in datum]
        case _:
            return datum


# ----------------------------------------------------------------------------- datums

SMALL_EDGES = [0, 1, -1, 63, 64, -64, -65, 109, 110, 127, 128, 255, 256, -255, -256, -257]
LARGE_EDGES = [2**31, 2**32 - 1, -(2**31), 2**56 - 1, 2**56, -(2**56), INT64_MAX, INT64_MIN]
INT64S = st.sampled_from([*SMALL_EDGES, *LARGE_EDGES]) | st.integers(INT64_MIN, INT64_MAX)

LENGTHS = st.sampled_from([63, 64, 127, 128, 300])
BYTE_STRINGS = st.one_of(
    st.sampled_from([b"", b"\x00", b"\xff", b"\x00\x00", b"\x00\xff", b"\x00\x01", b"\xff\xfe"]),
    st.binary(max_size=12),
    st.text(max_size=8).map(str.encode),
    st.builds(lambda unit, times: unit * times, st.binary(min_size=1, max_size=2), LENGTHS),
)

FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324]),
    st.floats(),
)

DIGITS = st.builds(
    lambda digits, zeros: (*digits, *[0] * zeros),
    st.lists(st.integers(0, 9), min_size=1, max_size=34),
    st.integers(0, 6),
)
EXPONENTS = st.sampled_from([0, -1, -2, 1, 2, 19, 20, 21, 22, -1999, 2000]) | st.integers(
    -2000, 2000
)
DECIMALS = st.one_of(
    st.sampled_from(["0", "-0", "0.00", "-0.0", "0E+5", "1", "1.0", "10", "-100", "1E+2"]).map(
        Decimal
    ),
    st.sampled_from(["NaN", "Infinity", "-Infinity"]).map(Decimal),
    st.builds(
        lambda sign, digits, exponent: Decimal((sign, digits, exponent)),
        st.integers(0, 1),
        DIGITS,
        EXPONENTS | st.integers(-12, 3),
    ),
)

TIMESTAMPS = st.tuples(INT64S, st.sampled_from([0, 1, 999_999_999]) | st.integers(0, 999_999_999))


def interval(months: int, days: int, nanos: int) -> tuple[int, int, int]:
    """With as many of the nanoseconds as the sum in a key has room for."""
    whole_days = (months * DAYS_PER_MONTH + days) * NANOS_PER_DAY
    return months, days, max(INT64_MIN - whole_days, min(nanos, INT64_MAX - whole_days))


INTERVALS = st.builds(interval, st.integers(-3000, 3000), st.integers(-16_000, 16_000), INT64S)

TIMETZS = st.tuples(
    st.integers(0, 86_400_000_000) | st.integers(-(2**62), 2**62),
    st.sampled_from([0, 57_540, -57_540]) | st.integers(-(2**31), 2**31 - 1),
)

INETS = st.one_of(
    st.builds(
        lambda mask, address: bytes([0, mask]) + address,
        st.integers(0, 32),
        st.binary(min_size=4, max_size=4),
    ),
    st.builds(
        lambda mask, address: bytes([1, mask]) + address,
        st.integers(0, 128),
        st.binary(min_size=16, max_size=16),
    ),
)

BITS = st.one_of(
    st.text("01", max_size=10),
    st.builds(
        lambda bit, length: bit * length,
        st.sampled_from("01"),
        st.sampled_from([0, 1, 63, 64, 65, 127, 128, 129]),
    ),
    st.text("01", min_size=60, max_size=70),
)

SCALARS: dict[DatumKind, SearchStrategy[Datum]] = {
    DatumKind.BOOL: st.booleans(),
    DatumKind.INT: INT64S,
    DatumKind.FLOAT: FLOATS,
    DatumKind.DECIMAL: DECIMALS,
    DatumKind.BYTES: BYTE_STRINGS,
    DatumKind.COLLATED: st.tuples(BYTE_STRINGS, BYTE_STRINGS),
    DatumKind.TIMESTAMP: TIMESTAMPS,
    DatumKind.INTERVAL: INTERVALS,
    DatumKind.TIMETZ: TIMETZS,
    DatumKind.UUID: st.binary(min_size=16, max_size=16),
    DatumKind.INET: INETS,
    DatumKind.BIT: BITS,
}

SCALAR_TYPES = [DatumType(kind) for kind in SCALARS]
ARRAY_TYPES = [DatumType(DatumKind.ARRAY, kind) for kind in SCALARS]
ALL_TYPES = SCALAR_TYPES + ARRAY_TYPES
KEY_TYPES = [one for one in ALL_TYPES if one.element is not DatumKind.COLLATED]
COMPOSITE_KEY_TYPES = [one for one in KEY_TYPES if one.may_be_composite]


def datums(datum_type: DatumType) -> SearchStrategy[Datum]:
    """Any datum of the type but NULL; an array may have NULL among its elements."""
    if datum_type.element is None:
        return SCALARS[datum_type.kind]
    elements = st.none() | SCALARS[datum_type.element]
    many = st.lists(elements, min_size=8, max_size=17)
    return st.one_of(st.lists(elements, max_size=3), st.lists(elements, max_size=3), many)


def datum_types() -> SearchStrategy[DatumType]:
    return st.sampled_from(ALL_TYPES)


def key_types() -> SearchStrategy[DatumType]:
    return st.sampled_from(KEY_TYPES) | st.sampled_from(COMPOSITE_KEY_TYPES)


# ----------------------------------------------------------------------------- tables and rows

COLUMN_IDS = st.integers(1, 12) | st.sampled_from([7, 8, 15, 16, 127, 128, 300, 2048, 70_000])
FAMILY_IDS = st.integers(1, 5) | st.sampled_from([109, 110, 300])
TABLE_IDS = st.sampled_from([51, 52, 109, 110, 1007, 300_000])


@st.composite
def tables(draw: DrawFn) -> KvTable:
    ids = draw(st.lists(COLUMN_IDS, min_size=1, max_size=8, unique=True))
    types = {ids[0]: draw(key_types())} | {column: draw(datum_types()) for column in ids[1:]}
    for_keys = [column for column in ids if types[column] in KEY_TYPES]
    primary_key = draw(key_parts(for_keys))
    keys = [part.column for part in primary_key]
    return KvTable(
        id=draw(TABLE_IDS),
        name="table",
        columns=tuple(
            KvColumn(
                id=column,
                name=f"c{column}",
                type=types[column],
                nullable=column not in keys and draw(st.booleans()),
            )
            for column in ids
        ),
        primary_key=primary_key,
        families=draw(families(ids)),
        indexes=tuple(
            draw(indexes(2 + place, ids, for_keys, keys))
            for place in range(draw(st.integers(0, 3)))
        ),
    )


@st.composite
def key_parts(draw: DrawFn, columns: list[int]) -> tuple[KeyPart, ...]:
    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))
    return tuple(KeyPart(column, draw(st.booleans())) for column in chosen)


@st.composite
def families(draw: DrawFn, columns: list[int]) -> tuple[Family, ...]:
    """Family 0 is always there; the others have at least one column."""
    ids = [0, *draw(st.lists(FAMILY_IDS, max_size=3, unique=True))]
    members: dict[int, list[int]] = {family: [] for family in ids}
    for column in columns:
        members[draw(st.sampled_from(ids))].append(column)
    return tuple(
        Family(
            id=family,
            columns=tuple(members[family]),
            default=draw(st.none() | st.sampled_from(members[family])) if family else None,
        )
        for family in sorted(ids)
        if members[family] or family == 0
    )


@st.composite
def indexes(
    draw: DrawFn, index_id: int, columns: list[int], for_keys: list[int], primary_key: list[int]
) -> KvIndex:
    parts = draw(key_parts(for_keys))
    indexed = [part.column for part in parts]
    others = [column for column in columns if column not in indexed + primary_key]
    return KvIndex(
        id=index_id,
        name=f"index{index_id}",
        parts=parts,
        suffix=tuple(column for column in primary_key if column not in indexed),
        stored=tuple(column for column in others if draw(st.booleans())),
        unique=draw(st.booleans()),
        by_family=draw(st.booleans()),
    )


def rows(table: KvTable) -> SearchStrategy[dict[int, Datum | None]]:
    keys = {part.column for part in table.primary_key}
    return st.fixed_dictionaries(
        {
            column.id: st.none() | datums(column.type)
            if column.nullable and column.id not in keys
            else datums(column.type)
            for column in table.columns
        }
    )


def all_pairs(table: KvTable, row: Row) -> list[Pair]:
    """Of the row and of its entries in all indexes, without checksums."""
    entries = (pair for index in table.indexes for pair in encode_entry(table, index, row))
    return [*encode_row(table, row), *entries]


def stored_pairs(table: KvTable) -> SearchStrategy[Pair]:
    """A key with a whole value, checksum included, as a table in order has them."""
    pairs = rows(table).flatmap(lambda row: st.sampled_from(all_pairs(table, row)))
    return pairs.map(lambda pair: (pair[0], encode_value(*pair)))


# ----------------------------------------------------------------------------- damage

KEY_TAGS = bytes.fromhex("02030405061213141618191a2127282a343536 3a3b3c3f4080878889f6fd")
KEY_LIKE_BYTES = st.binary(max_size=24) | st.builds(
    lambda tag, rest: bytes([tag]) + rest, st.sampled_from(KEY_TAGS), st.binary(max_size=12)
)
MEANINGFUL_BYTES = bytes.fromhex("00010206 0a0b1112132736 7f80878889 f6fdfeff")
EDITS = (
    ["respell"] * 4 + ["append"] * 2 + ["flip", "cut", "insert", "overwrite", "delete", "splice"]
)
ENTRIES = [bytes.fromhex(entry) for entry in ("03 02", "13 02", "11", "01", "0a", "1b", "16 01 61")]
SHORT_RUNS = st.binary(min_size=1, max_size=3) | st.sampled_from(MEANINGFUL_BYTES).map(
    lambda byte: bytes([byte])
)


def flip(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def respellings(byte: int) -> list[bytes]:
    """What might stand for the same as this byte, depending on where it is found."""
    same = {0x00: "ff", 0xFF: "00", 0x02: "06", 0x06: "02", 0x18: "36", 0x36: "18", 0x87: "86ff"}
    found = [bytes.fromhex(same[byte])] if byte in same else []
    if 0x88 <= byte <= 0xF5:
        found.append(bytes([0xF6, byte - 0x88]))  # a number in a key, padded
    if byte < 0x80:
        found.append(bytes([0x80, byte]))  # a tag, a length or a count, padded
        found.append(bytes([byte | 0x80, 0x00]))  # a number in a value, padded
    if 0x10 <= byte < 0x80:
        found.append(bytes([byte | 0x0F, byte & 0x0F]))  # a type behind the escape
    return found or [bytes([byte])]


@st.composite
def places(draw: DrawFn, data: bytes, first: int) -> int:
    """Mostly not before the first and not far behind it, where the tags and the numbers are."""
    if draw(st.sampled_from([False] * 7 + [True])):
        first = 0
    last = max(0, len(data) - 1)
    return min(last, draw(st.integers(first, first + 3) | st.integers(first, max(first, last))))


@st.composite
def edited(draw: DrawFn, data: bytes, other: bytes, first: int) -> bytes:
    """One change of the data; the other data is what a splice may go on with."""
    place = draw(places(data, first))
    match draw(st.sampled_from(EDITS)):
        case "flip" if data:
            return flip(data, place, draw(st.integers(0, 7)))
        case "respell" if data:
            spelled = draw(st.sampled_from(respellings(data[place])))
            return data[:place] + spelled + data[place + 1 :]
        case "append":
            return data + draw(st.sampled_from(ENTRIES))
        case "cut":
            return data[:place]
        case "insert":
            return data[:place] + draw(SHORT_RUNS) + data[place:]
        case "overwrite":
            run = draw(SHORT_RUNS)
            return data[:place] + run + data[place + len(run) :]
        case "delete":
            return data[:place] + data[place + draw(st.integers(1, 3)) :]
        case _:
            return data[:place] + other[draw(places(other, first)) :]


@st.composite
def mutated(draw: DrawFn, pairs: SearchStrategy[Pair]) -> Pair:
    """A stored pair with a few changes in its key, its value or both, or with another's value.

    Mostly with a checksum that fits the change: a wrong one would hide everything else.
    """
    (key, value), (other_key, other_value) = draw(pairs), draw(pairs)
    stored, data = value[:CHECKSUM_LENGTH], value[CHECKSUM_LENGTH:]
    other_data = other_value[CHECKSUM_LENGTH:]
    for _ in range(draw(st.sampled_from([1, 1, 1, 1, 2, 3]))):
        match draw(st.sampled_from(["key", "data", "data", "data", "swap"])):
            case "key":
                key = draw(edited(key, other_key, first=2))
            case "data":
                data = draw(edited(data, other_data, first=1))
            case _:
                data = other_data
    match draw(st.sampled_from(["renewed"] * 6 + ["unset", "kept"])):
        case "renewed":
            return key, encode_value(key, data)
        case "unset":
            return key, bytes(CHECKSUM_LENGTH) + data
        case _:
            return key, stored + data
