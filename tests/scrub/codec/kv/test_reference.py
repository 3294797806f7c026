# SPDX-License-Identifier: Apache-2.0
"""Both codecs against golden vectors, most of them bytes that CockroachDB itself has published.

A vector says what some input is written as, that some bytes are invalid, or that they decode to
something which is written otherwise. Behind the vectors follow pairs that are broken by hand, one
for each rule about what a pair is accused of. Every check is written with the names of the
reference; for the compiled codec, `codec` puts its functions in their place.
"""

import ipaddress
import json
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable
from tests.scrub.codec.kv import fast
from tests.scrub.codec.kv.reference_datums import (
    Datum,
    Invalid,
    ValueTag,
    big_endian,
    decode_array_body,
    decode_decimal_value,
    decode_key,
    decode_legacy,
    decode_tuple,
    decode_unsigned,
    encode_array_body,
    encode_decimal_value,
    encode_key,
    encode_legacy,
    encode_tagged,
    encode_tuple,
    encode_unsigned,
    exponent_and_mantissa,
    inverted,
    is_composite,
)
from tests.scrub.codec.kv.reference_pairs import (
    Row,
    checksum,
    classify_pair,
    decode_family,
    decode_mvcc,
    decode_value,
    decode_wrapper,
    encode_entry,
    encode_family,
    encode_mvcc,
    encode_prefix,
    encode_row,
    encode_value,
    encode_wrapper,
)
from tests.scrub.codec.kv.strategies import as_keys_tell_it, identity

Vector = Mapping[str, Any]

VECTORS: list[Vector] = json.loads(
    Path(__file__).with_name("vectors.json").read_text(encoding="utf-8")
)
KNOWN_DISAGREEMENTS: dict[str, str] = {}  # id of a vector that the codecs contradict: why
CODECS = ("reference", "compiled")
VISITED: set[tuple[str, str]] = set()


@pytest.fixture(params=CODECS, autouse=True)
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whose functions the names in this module stand for."""
    if request.param == "compiled":
        for name, function in fast.ADAPTED.items():
            assert name in globals()
            monkeypatch.setitem(globals(), name, function)
    return str(request.param)


KIND_NAMES = {
    "bool": DatumKind.BOOL,
    "int": DatumKind.INT,
    "int64": DatumKind.INT,
    "date": DatumKind.INT,
    "float": DatumKind.FLOAT,
    "float64": DatumKind.FLOAT,
    "decimal": DatumKind.DECIMAL,
    "bytes": DatumKind.BYTES,
    "string": DatumKind.BYTES,
    "name": DatumKind.BYTES,
    "collated": DatumKind.COLLATED,
    "collation_key": DatumKind.COLLATED,
    "timestamp": DatumKind.TIMESTAMP,
    "interval": DatumKind.INTERVAL,
    "timetz": DatumKind.TIMETZ,
    "uuid": DatumKind.UUID,
    "inet": DatumKind.INET,
    "bit": DatumKind.BIT,
}
INT = DatumType(DatumKind.INT)


# ----------------------------------------------------------------------------- what vectors say


def type_named(name: str) -> DatumType:
    outer, _, element = name.partition(":")
    if outer == "array":
        return DatumType(DatumKind.ARRAY, KIND_NAMES[element])
    return DatumType(KIND_NAMES[name])


def datum_in(name: str, told: Any) -> Datum:
    """A datum from the way in which the vectors write its type."""
    if name.startswith("array:"):
        return [datum_in(name.removeprefix("array:"), element) for element in told]
    return None if told is None else READERS.get(name, lambda plain: plain)(told)


def decimal_in(told: Any) -> Decimal:
    if isinstance(told, str):
        return Decimal(told)
    match told["form"]:
        case "NaN":
            return Decimal("NaN")
        case "Infinite":
            return Decimal("-Infinity" if told["negative"] else "Infinity")
        case _:
            digits = tuple(int(digit) for digit in told["coeff"])
            return Decimal((int(told["negative"]), digits, told["exp"]))


def bytes_in(told: Any) -> bytes:
    return told.encode() if isinstance(told, str) else bytes.fromhex(told["bytes_hex"])


def inet_in(told: str) -> bytes:
    interface = ipaddress.ip_interface(told)
    family = 0 if interface.version == 4 else 1
    return bytes([family, interface.network.prefixlen]) + interface.packed


READERS: dict[str, Callable[[Any], Datum]] = {
    "float": lambda told: struct.unpack(">d", bytes.fromhex(told["bits"]))[0],
    "float64": lambda told: struct.unpack(">d", bytes.fromhex(told["bits"]))[0],
    "decimal": decimal_in,
    "bytes": bytes_in,
    "string": bytes_in,
    "name": bytes_in,
    "collated": lambda told: (None, bytes_in(told)),
    "collation_key": lambda told: (bytes_in(told), None),
    "timestamp": lambda told: (told["sec"], told["nanos"]),
    "interval": lambda told: (told["months"], told["days"], told["nanos"]),
    "timetz": lambda told: (told["micros"], told["offset_secs"]),
    "uuid": lambda told: uuid.UUID(told).bytes,
    "inet": inet_in,
    "bit": lambda told: told["bits"],
}


def written(vector: Vector) -> bytes:
    return bytes.fromhex(vector["hex"])


def is_descending(vector: Vector) -> bool:
    return bool(vector["direction"] == "desc")


def assert_key(data: bytes, datum: Datum | None, datum_type: DatumType, descending: bool) -> None:
    assert encode_key(datum, datum_type, descending) == data
    decoded, end = decode_key(data, 0, datum_type, descending)
    assert end == len(data)
    assert identity(decoded) == identity(as_keys_tell_it(datum, datum_type))


# ----------------------------------------------------------------------------- single datums


def check_key(vector: Vector) -> None:
    datum = datum_in(vector["type"], vector["input"])
    assert_key(written(vector), datum, type_named(vector["type"]), is_descending(vector))


def check_key_uint(vector: Vector) -> None:
    """No column here is unsigned, but table ids, lengths and exponents are."""
    descending = is_descending(vector)
    assert encode_unsigned(vector["input"], descending) == written(vector)
    assert decode_unsigned(written(vector), 0, descending) == (
        vector["input"],
        len(written(vector)),
    )


def check_key_null(vector: Vector) -> None:
    for kind in DatumKind:
        datum_type = DatumType(kind, DatumKind.INT if kind is DatumKind.ARRAY else None)
        assert_key(written(vector), None, datum_type, is_descending(vector))


def check_key_notnull(vector: Vector) -> None:
    """A bound of spans, which no stored key has: there is nothing it could decode to."""
    for kind in DatumKind:
        datum_type = DatumType(kind, DatumKind.INT if kind is DatumKind.ARRAY else None)
        with pytest.raises(Invalid):
            decode_key(written(vector), 0, datum_type, is_descending(vector))


def check_fixed_uint(vector: Vector) -> None:
    """Numbers of fixed width, of which the reference only has the helpers."""
    width = 4 if vector["type"] == "uint32" else 8
    plain = inverted(written(vector)) if is_descending(vector) else written(vector)
    assert big_endian(width, vector["input"]) == plain
    assert int.from_bytes(plain) == vector["input"]


def check_exponent_and_mantissa(vector: Vector) -> None:
    """The middle of a decimal key, without the header and the terminator."""
    value = decimal_in(vector["input"])
    assert exponent_and_mantissa(value) == (vector["exponent"], written(vector))
    assert identity(value) == identity(Decimal(vector["text"]))
    assert_key(encode_key(value, type_named("decimal"), False), value, type_named("decimal"), False)


def check_decimal_value(vector: Vector) -> None:
    value = decimal_in(vector["input"])
    assert encode_decimal_value(value) == written(vector)
    assert identity(decode_decimal_value(written(vector), 0)) == identity(value)


def check_array_body(vector: Vector) -> None:
    elements = datum_in(vector["type"], vector["input"])
    kind = type_named(vector["type"]).element
    assert kind is not None
    assert encode_array_body(elements, kind) == written(vector)
    assert identity(decode_array_body(written(vector), 0, kind)) == identity(elements)


def check_value_datum(vector: Vector) -> None:
    datum_type = type_named(vector["type"])
    delta = vector["input"]["col_delta"]
    datum = datum_in(vector["type"], vector["input"]["value"])
    assert encode_tagged(delta, datum, datum_type) == written(vector)
    (entry,) = decode_tuple(written(vector), 0, {delta: datum_type})
    assert (entry.column, entry.fits) == (delta, True)
    assert identity(entry.datum) == identity(datum)


def check_invalid_key(vector: Vector) -> None:
    with pytest.raises(Invalid):
        decode_key(written(vector), 0, type_named(vector["type"]), is_descending(vector))


def check_noncanonical_key(vector: Vector) -> None:
    datum_type = type_named(vector["type"])
    expected = datum_in(vector["type"], vector["input"]["decodes_to"])
    decoded, end = decode_key(written(vector), 0, datum_type, is_descending(vector))
    assert end == len(written(vector))
    assert identity(decoded) == identity(expected)
    canonical = encode_key(decoded, datum_type, is_descending(vector))
    assert canonical == bytes.fromhex(vector["input"]["canonical_hex"])
    assert canonical != written(vector)


# ----------------------------------------------------------------------------- values


def check_value(vector: Vector) -> None:
    """Bare columns whose checksum is not set."""
    told = vector["input"]
    name = told.get("value_type", "bytes")
    datum = datum_in(name, told["value"])
    tag_and_data = encode_legacy(datum, type_named(name))
    assert tag_and_data[0] == ValueTag[told["tag"]]
    assert bytes(4) + tag_and_data == written(vector)
    assert decode_value(b"any key", written(vector)) == tag_and_data
    assert identity(decode_legacy(tag_and_data, type_named(name))) == identity(datum)


def check_mvcc(vector: Vector) -> None:
    header = bytes.fromhex(vector["input"]["header_hex"])
    value = bytes.fromhex(vector["input"]["roachpb_value_hex"])
    assert encode_mvcc(header, value) == written(vector)
    assert decode_mvcc(written(vector)) == (header, value)
    assert decode_mvcc(value) == (None, value)


def check_wrapper(vector: Vector) -> None:
    wrapped = bytes.fromhex(vector["input"]["wrapped_tag_and_data_hex"])
    deleted = vector["input"]["deleted"]
    assert encode_wrapper(wrapped, deleted) == written(vector)
    if wrapped or deleted:
        assert decode_wrapper(written(vector)) == (wrapped, deleted)
    else:
        with pytest.raises(Invalid):  # what an absent value becomes: there is nothing to merge
            decode_wrapper(written(vector))


def check_value_row(vector: Vector) -> None:
    """The keys of these are unknown, so their checksums cannot be computed."""
    told = vector["input"]
    assert written(vector)[:4] == bytes.fromhex(told["checksum_hex"])
    assert written(vector)[4] == ValueTag[told["value_tag"]]
    assert_tuple(written(vector)[5:], told["tuple"])


def assert_tuple(data: bytes, told: list[Mapping[str, Any]]) -> None:
    types = {column["col_id"]: type_named(column["type"]) for column in told}
    row = {column["col_id"]: datum_in(column["type"], column["value"]) for column in told}
    assert encode_tuple(row, types) == data
    decoded = {entry.column: identity(entry.datum) for entry in decode_tuple(data, 0, types)}
    assert decoded == {column: identity(datum) for column, datum in row.items()}


# ----------------------------------------------------------------------------- pairs


def check_table_key(vector: Vector) -> None:
    assert_table_key(written(vector), vector["input"])


def assert_table_key(key: bytes, told: Mapping[str, Any]) -> None:
    """Columns of the key one by one; spans and split points end without a family."""
    at = len(encode_prefix(told["table_id"], told["index_id"]))
    assert key[:at] == encode_prefix(told["table_id"], told["index_id"])
    at = assert_key_columns(key, at, told["key_cols"])
    if told["family_id"] is None:
        assert at == len(key)
    else:
        assert key[at:] == encode_family(told["family_id"])
        assert decode_family(key, at) == told["family_id"]


def assert_key_columns(data: bytes, at: int, told: list[Mapping[str, Any]]) -> int:
    for column in told:
        datum = datum_in(column["type"], column["value"])
        start = at
        datum_type, descending = type_named(column["type"]), column["dir"] == "desc"
        _, at = decode_key(data, start, datum_type, descending)
        assert_key(data[start:at], datum, datum_type, descending)
    return at


def assert_pieces(vector: Vector) -> tuple[bytes, bytes]:
    """Key and value piece by piece as they are told, whatever the table may have been."""
    told = vector["input"]
    key = bytes.fromhex(vector["key_hex"])
    assert_table_key(key, told)

    tag_and_data = written(vector)
    if vector["value_has_checksum"]:
        tag_and_data = decode_value(key, written(vector))
        assert big_endian(4, checksum(key, tag_and_data)) == written(vector)[:4]
        assert encode_value(key, tag_and_data) == written(vector)
    assert tag_and_data[0] == ValueTag[told["value_tag"]]
    if (bare := told.get("single_col")) is not None:
        datum = datum_in(bare["type"], bare["value"])
        assert encode_legacy(datum, type_named(bare["type"])) == tag_and_data
        decoded = decode_legacy(tag_and_data, type_named(bare["type"]))
        assert identity(decoded) == identity(datum)
    else:
        at = assert_key_columns(tag_and_data, 1, told.get("value_key_encoded_cols", []))
        assert_tuple(tag_and_data[at:], told["tuple"])
    return key, tag_and_data


def check_obsolete_pair(vector: Vector) -> None:
    """Stored columns were once key-encoded behind the suffix, a layout that nothing here writes.

    What can be said: the checksum is right and all pieces are what they are told to be, decimals
    without their scale included. Read by the layout of today the pairs are not in order.
    """
    assert vector["value_has_checksum"]
    key, tag_and_data = assert_pieces(vector)
    stored = KvColumn(id=3, name="stored", type=type_named("decimal"))
    name = KvColumn(id=2, name="name", type=type_named("string"))
    table = KvTable(
        id=vector["input"]["table_id"],
        name="obsolete",
        columns=(KvColumn(id=1, name="id", type=INT, nullable=False), name, stored),
        primary_key=(KeyPart(1),),
        families=(Family(0, (1, 2, 3)),),
        indexes=(
            KvIndex(2, "unique", (KeyPart(2),), suffix=(1,), stored=(3,), unique=True),
            KvIndex(3, "plain", (KeyPart(2),), suffix=(1,), stored=(3,)),
        ),
    )
    assert classify_pair(table, key, encode_value(key, tag_and_data)) == "invalid_encoding"


def check_sequence(vector: Vector) -> None:
    """A sequence is a bare number in the first family, which no table has."""
    assert vector["input"]["family_id"] == 0
    assert_pieces(vector)


def check_primary_pair(vector: Vector) -> None:
    told = vector["input"]
    if told["family_id"] == 0 and "single_col" in told:
        check_sequence(vector)
        return
    pair = assert_pieces(vector)
    key_columns = key_columns_of(vector)
    told_values = value_columns_of(vector)
    bare = told["single_col"]["col_id"] if "single_col" in told else None
    held = tuple(column for column in told_values if column not in key_columns)
    table = KvTable(
        id=told["table_id"],
        name="primary",
        columns=columns_of(key_columns | told_values),
        primary_key=parts_of(key_columns, told["key_cols"]),
        families=(Family(told["family_id"], held, default=bare),),
        primary_index_id=told["index_id"],
    )
    row = row_of(key_columns | told_values, key_columns)
    assert pair in encode_row(table, row)
    assert classify_pair(table, pair[0], encode_value(*pair)) is None


def check_secondary_pair(vector: Vector) -> None:
    """A unique index is one whose value begins with the suffix columns, where that can be seen."""
    told = vector["input"]
    pair = assert_pieces(vector)
    key_columns = key_columns_of(vector)
    told_values = value_columns_of(vector)
    in_value = told.get("value_key_encoded_cols", [])
    # The entries of other families do not tell; the indexes 4 and 5 are known from their sources.
    unique = bool(in_value) or (vector["kind"] == "kv_secondary_families" and told["index_id"] == 5)
    any_null = any(column["value"] is None for column in told["key_cols"])
    ids = list(key_columns)
    if not unique or any_null:
        indexed, suffix = ids[:-1], ids[-1]
    else:
        indexed, suffix = ids, 200
        key_columns = key_columns | {200: ("int", in_value[0]["value"] if in_value else 1)}
    stored = tuple(column for column in told_values if column not in key_columns)
    index = KvIndex(
        id=told["index_id"],
        name="secondary",
        parts=parts_of(indexed, told["key_cols"]),
        suffix=(suffix,),
        stored=stored,
        unique=unique,
        by_family=told["family_id"] != 0,
    )
    table = KvTable(
        id=told["table_id"],
        name="table",
        columns=columns_of(key_columns | told_values),
        primary_key=(KeyPart(suffix),),
        families=(Family(told["family_id"], stored),),
        indexes=(index,),
        primary_index_id=1,
    )
    row = row_of(key_columns | told_values, key_columns)
    assert pair in encode_entry(table, index, row)
    assert classify_pair(table, pair[0], encode_value(*pair)) is None
    if "is_composite" in vector:
        column = indexed[0]
        composite = is_composite(row[column], type_named(key_columns[column][0]))
        assert composite is vector["is_composite"]


Columns = dict[int, tuple[str, Any]]  # by id, the type and the datum as a vector tells them


def key_columns_of(vector: Vector) -> Columns:
    """Vectors do not give ids to key columns; the ones that the value repeats have the value's."""
    told = vector["input"]
    repeated = [column["col_id"] for column in told.get("tuple") or []]
    columns: Columns = {}
    for place, column in enumerate(told["key_cols"]):
        is_repeated = vector["kind"] == "kv_composite" and place == 0 and repeated
        columns[repeated[0] if is_repeated else 100 + place] = (column["type"], column["value"])
    return columns


def value_columns_of(vector: Vector) -> Columns:
    told = vector["input"]
    listed = [told["single_col"]] if "single_col" in told else told["tuple"]
    return {column["col_id"]: (column["type"], column["value"]) for column in listed}


def columns_of(columns: Columns) -> tuple[KvColumn, ...]:
    return tuple(
        KvColumn(id=column, name=f"c{column}", type=type_named(name))
        for column, (name, _) in columns.items()
    )


def parts_of(columns: Columns | list[int], told: list[Mapping[str, Any]]) -> tuple[KeyPart, ...]:
    pairs = zip(columns, told, strict=False)
    return tuple(KeyPart(column, column_told["dir"] == "desc") for column, column_told in pairs)


def row_of(columns: Columns, key_columns: Columns) -> Row:
    """Collation keys are told with the key and contents with the value: both make the datum."""
    row = {column: datum_in(name, told) for column, (name, told) in columns.items()}
    for column, (name, told) in key_columns.items():
        if name == "collation_key" and told is not None:
            row[column] = (datum_in(name, told)[0], row[column][1])
    return row


CHECKS: dict[str, Callable[[Vector], None]] = {
    "key_int": check_key,
    "key_float": check_key,
    "key_decimal": check_key,
    "key_bytes": check_key,
    "key_bitarray": check_key,
    "key_time": check_key,
    "key_duration": check_key,
    "key_timetz": check_key,
    "key_datum": check_key,
    "key_uint": check_key_uint,
    "key_null": check_key_null,
    "key_notnull": check_key_notnull,
    "fixed_uint": check_fixed_uint,
    "decimal_exp_mantissa": check_exponent_and_mantissa,
    "value_decimal_nonsorting": check_decimal_value,
    "value_array_body": check_array_body,
    "value_datum": check_value_datum,
    "invalid_key": check_invalid_key,
    "noncanonical_key": check_noncanonical_key,
    "roachpb_value": check_value,
    "mvcc_value_extended": check_mvcc,
    "delete_preserving": check_wrapper,
    "value_row": check_value_row,
    "table_key": check_table_key,
    "kv_obsolete": check_obsolete_pair,
    "kv_primary": check_primary_pair,
    "kv_row_nochecksum": check_primary_pair,
    "kv_secondary_unique": check_secondary_pair,
    "kv_secondary_nonunique": check_secondary_pair,
    "kv_secondary_families": check_secondary_pair,
    "kv_composite": lambda vector: (
        check_primary_pair(vector)
        if vector["input"]["index_id"] == 1
        else check_secondary_pair(vector)
    ),
}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["id"]))
def test_vector(codec: str, vector: Vector) -> None:
    VISITED.add((codec, vector["id"]))
    if vector["id"] in KNOWN_DISAGREEMENTS:
        with pytest.raises((AssertionError, Invalid)):
            CHECKS[vector["kind"]](vector)
    else:
        CHECKS[vector["kind"]](vector)


def test_all_vectors_were_visited(request: pytest.FixtureRequest) -> None:
    """Every vector has a check of its own; where all tests ran, every one of them was called."""
    ids = {vector["id"] for vector in VECTORS}
    assert len(ids) == len(VECTORS) == 462
    assert {vector["kind"] for vector in VECTORS} == set(CHECKS)
    selected = {item.name for item in request.session.items}
    chosen = {
        (codec, one) for codec in CODECS for one in ids if f"test_vector[{codec}-{one}]" in selected
    }
    assert chosen <= VISITED


# ----------------------------------------------------------------------------- broken pairs

GOODS = KvTable(
    id=51,
    name="goods",
    columns=(
        KvColumn(1, "id", INT, nullable=False),
        KvColumn(2, "name", DatumType(DatumKind.BYTES)),
        KvColumn(3, "price", DatumType(DatumKind.DECIMAL)),
        KvColumn(4, "note", DatumType(DatumKind.COLLATED)),
        KvColumn(5, "sold", DatumType(DatumKind.BOOL)),
        KvColumn(6, "sizes", DatumType(DatumKind.ARRAY, DatumKind.INT)),
        KvColumn(7, "flags", DatumType(DatumKind.BIT)),
        KvColumn(8, "score", DatumType(DatumKind.FLOAT)),
    ),
    primary_key=(KeyPart(1),),
    families=(Family(0, (1, 2, 5, 6, 7)), Family(1, (3,), default=3), Family(2, (4, 8))),
    indexes=(
        KvIndex(2, "by_price", (KeyPart(3),), suffix=(1,), stored=(2,)),
        KvIndex(
            3,
            "by_name",
            (KeyPart(2, descending=True),),
            suffix=(1,),
            stored=(5, 8),
            unique=True,
            by_family=True,
        ),
    ),
)
OWNERS = KvTable(
    id=52,
    name="owners",
    columns=(
        KvColumn(1, "name", DatumType(DatumKind.COLLATED), nullable=False),
        KvColumn(2, "age", INT, nullable=False),
    ),
    primary_key=(KeyPart(1),),
    families=(Family(0, (1, 2)),),
)
INVALID, COMPOSITE = "invalid_encoding", "invalid_composite_encoding"
NONCANONICAL, UNEXPECTED = "noncanonical_encoding", "unexpected_key"

KEYS = [
    ("canonical", "bb898988", None),
    ("a padded number", "bb89f60188", NONCANONICAL),
    ("the other direction's NULL in a primary key", "bb89ff88", INVALID),
    ("no family", "bb8989", INVALID),
    ("nothing behind the index", "bb89", INVALID),
    ("an unknown family", "bb89898b89", INVALID),
    ("the first family with a length", "bb89898889", NONCANONICAL),
    ("a family with a wrong length", "bb89898a8a", INVALID),
    ("a column too many", "bb89898988", INVALID),
    ("a NOT NULL mark", "bb890188", INVALID),
    ("another table", "bc898988", UNEXPECTED),
    ("another index", "bb918988", UNEXPECTED),
    ("a padded table number", "f633898988", UNEXPECTED),
    ("no numbers", "1261000188", UNEXPECTED),
    ("nothing", "", UNEXPECTED),
]
TUPLES = [
    ("canonical", "0a260161", None),
    ("empty", "0a", None),
    ("the tag of bytes", "03260161", INVALID),
    ("an unknown tag", "65260161", INVALID),
    ("an explicit NULL", "0a21", NONCANONICAL),
    ("an unknown column", "0a811302", NONCANONICAL),
    ("an unknown column of no known type", "0a811f0f00", INVALID),
    ("an unknown column that is cut off", "0a811380", INVALID),
    ("a column of another family by its own tag", "0a3302", NONCANONICAL),
    ("a key column that is never composite", "0a1302", NONCANONICAL),
    ("a column twice", "0a260161060162", NONCANONICAL),
    ("another type", "0a2302", INVALID),
    ("a low type through the escape", "0a2f060161", NONCANONICAL),
    ("type number 0", "0a20", INVALID),
    ("a padded length", "0a26800161", NONCANONICAL),
    ("a length beyond the end", "0a260261", INVALID),
    ("a column id beyond 32 bits", "0a818080808003", INVALID),
    ("false", "0a5b", None),
    ("an array", "0a6d0401030102", None),
    ("an array with a NULL", "0a6d0411030101", None),
    ("an array that says NULL and has none", "0a6d051103010002", NONCANONICAL),
    ("an array with NULL beyond its end", "0a6d0411030103", NONCANONICAL),
    ("an array of two dimensions", "0a6d0402030102", INVALID),
    ("an array of other elements", "0a6d03010600", INVALID),
    ("an array with something behind it", "0a6d0401030002", INVALID),
    ("bits", "0a7f11018000000000000000", None),
    ("bits in the padding", "0a7f1101c000000000000000", NONCANONICAL),
]
OTHER_FAMILIES = [
    ("a bare decimal", "bb89898989", "05348905", None),
    ("a tuple instead of a bare column", "bb89898989", "0a3503348905", INVALID),
    ("something behind a zero", "bb89898989", "052700", INVALID),
    ("a padded coefficient", "bb89898989", "0534890005", NONCANONICAL),
    ("a zero exponent that is written", "bb89898989", "05348805", NONCANONICAL),
    ("a tuple", "bb89898a89", "0a460161", None),
    ("a tuple that should not be there", "bb89898a89", "0a", NONCANONICAL),
]
ENTRIES = [
    ("a number that the key tells", "bb8a2a02008988", "03", None),
    ("with a stored column", "bb8a2a02008988", "03260161", None),
    ("a number with a scale", "bb8a2a02008988", "03350334890a", None),
    ("a part for nothing", "bb8a2a02008988", "033503348901", NONCANONICAL),
    ("a part of another number", "bb8a2a02008988", "033503348902", COMPOSITE),
    ("a part of another type", "bb8a2a02008988", "033302", COMPOSITE),
    ("another number and then rubbish", "bb8a2a02008988", "0335033489022602", INVALID),
    ("a zero without its part", "bb8a278988", "03", COMPOSITE),
    ("a zero with its part", "bb8a278988", "03350127", None),
    ("a zero with an explicit NULL", "bb8a278988", "0331", COMPOSITE),
    ("a strange zero without its part", "bb8a2a01008988", "03", COMPOSITE),
    ("a part of NULL", "bb8a008988", "033503348901", COMPOSITE),
    ("a padded key with a part that agrees", "bb8a2a0301008988", "033503348901", NONCANONICAL),
    ("the other direction's NULL", "bb8aff8988", "03", NONCANONICAL),
    ("NULL in the suffix", "bb8a2a02000088", "03", INVALID),
    ("a family in an index without families", "bb8a2a0200898a89", "0a260161", INVALID),
    ("unique", "bb8b139efffe88", "03895a", None),
    ("unique without the suffix", "bb8b139efffe88", "03", INVALID),
    ("unique with the suffix in the key", "bb8b139efffe8988", "0389", INVALID),
    ("unique and NULL", "bb8bff8988", "0389", None),
    ("unique and NULL without the suffix", "bb8bff88", "0389", INVALID),
    ("unique and NULL with another suffix", "bb8bff8988", "038a", NONCANONICAL),
    ("by family", "bb8b139efffe8a89", "0a81043ff0000000000000", None),
    ("by family with nothing in it", "bb8b139efffe8a89", "0a", NONCANONICAL),
    ("by family without stored columns", "bb8b139efffe8989", "0a3503348905", INVALID),
]
COLLATED = [
    ("key and contents", "bc891261000188", "0a1601411302", None),
    ("no contents", "bc891261000188", "0a2302", COMPOSITE),
    ("contents of another type", "bc891261000188", "0a13021302", COMPOSITE),
    ("NULL where there is none", "bc891261000188", "0a160141", None),
    ("explicit NULL where there is none", "bc891261000188", "0a16014111", NONCANONICAL),
]
BROKEN = [
    *((GOODS, f"key: {name}", key, "0a", expected) for name, key, expected in KEYS),
    *((GOODS, f"tuple: {name}", "bb898988", data, expected) for name, data, expected in TUPLES),
    *((GOODS, f"family: {name}", key, data, fault) for name, key, data, fault in OTHER_FAMILIES),
    *((GOODS, f"entry: {name}", key, data, expected) for name, key, data, expected in ENTRIES),
    *((OWNERS, f"collated: {name}", key, data, expected) for name, key, data, expected in COLLATED),
]


@pytest.mark.parametrize(
    ("table", "key", "data", "expected"),
    [(table, key, data, expected) for table, _, key, data, expected in BROKEN],
    ids=[name for _, name, _, _, _ in BROKEN],
)
def test_what_a_pair_is_accused_of(
    table: KvTable, key: str, data: str, expected: str | None
) -> None:
    value = encode_value(bytes.fromhex(key), bytes.fromhex(data))
    assert classify_pair(table, bytes.fromhex(key), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", INVALID),
        ("00000000", INVALID),
        ("000000000a", None),
        ("000000010a", INVALID),
        (encode_value(bytes.fromhex("bb898988"), b"\x0a").hex(), None),
        (encode_value(bytes.fromhex("bb898a88"), b"\x0a").hex(), INVALID),
    ],
)
def test_a_value_has_the_checksum_of_its_key_or_none(value: str, expected: str | None) -> None:
    assert classify_pair(GOODS, bytes.fromhex("bb898988"), bytes.fromhex(value)) == expected
