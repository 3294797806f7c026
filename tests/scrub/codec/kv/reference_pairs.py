# SPDX-License-Identifier: Apache-2.0
"""Rows and index entries as key-value pairs, and what can be wrong with a pair, in plain Python.

Built on the datums of `reference_datums`. A value is raw bytes: a checksum of four bytes, a tag and
data; "tag and data" leaves the checksum out. Every pair that a table may have is described by a
`Layout`; writing a pair follows the layout, and judging one reads it by the layout, writes what was
read again, and compares.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvIndex, KvTable
from tests.scrub.codec.kv.reference_datums import (
    Datum,
    Invalid,
    TupleEntry,
    ValueTag,
    big_endian,
    byte_at,
    decode_key,
    decode_leb128,
    decode_legacy,
    decode_tuple,
    decode_unsigned,
    encode_key,
    encode_leb128,
    encode_legacy,
    encode_tuple,
    encode_unsigned,
    is_composite,
    take,
)

Row = Mapping[int, Datum | None]
Pair = tuple[bytes, bytes]  # a key, and a tag with its data

CHECKSUM_LENGTH = 4
MVCC_HEADER_TAG = 0x65


# ----------------------------------------------------------------------------- values


def checksum(key: bytes, tag_and_data: bytes) -> int:
    return zlib.crc32(key + tag_and_data) or 1  # 0 would mean that there is none


def encode_value(key: bytes, tag_and_data: bytes) -> bytes:
    return big_endian(CHECKSUM_LENGTH, checksum(key, tag_and_data)) + tag_and_data


def decode_value(key: bytes, value: bytes) -> bytes:
    """The tag and data of a value whose checksum is right or not set."""
    if len(value) <= CHECKSUM_LENGTH:
        raise Invalid(0, "a checksum and a tag")
    stored = int.from_bytes(value[:CHECKSUM_LENGTH])
    tag_and_data = value[CHECKSUM_LENGTH:]
    if stored not in (0, checksum(key, tag_and_data)):
        raise Invalid(0, "the checksum of key and value")
    return tag_and_data


def encode_mvcc(header: bytes, value: bytes) -> bytes:
    return big_endian(4, len(header)) + bytes([MVCC_HEADER_TAG]) + header + value


def decode_mvcc(stored: bytes) -> tuple[bytes | None, bytes]:
    """The storage engine's header, None where there is none, and the value without it."""
    if len(stored) <= CHECKSUM_LENGTH or stored[CHECKSUM_LENGTH] != MVCC_HEADER_TAG:
        return None, stored
    length = int.from_bytes(stored[:4])
    header = take(stored, 5, length, "a header of a stored value")
    return header, stored[5 + length :]


def encode_wrapper(tag_and_data: bytes, deleted: bool) -> bytes:
    """The message around the entries of an index that is being built."""
    wrapped = b"\x0a" + encode_leb128(len(tag_and_data)) + tag_and_data if tag_and_data else b""
    return wrapped + (b"\x10\x01" if deleted else b"")


def decode_wrapper(message: bytes) -> tuple[bytes, bool]:
    # Decision: fields may come in any order and the last of a kind counts, as protocol buffers
    # have it, but a field that this message does not have is invalid. So is a message that is
    # neither a value nor a deletion: what it stands for would have no tag.
    tag_and_data, deleted = b"", False
    at = 0
    while at < len(message):
        match message[at]:
            case 0x0A:
                length, at = decode_leb128(message, at + 1)
                tag_and_data = take(message, at, length, "a wrapped value")
                at += length
            case 0x10:
                flag, at = decode_leb128(message, at + 1)
                deleted = flag != 0
            case _:
                raise Invalid(at, "a field of the wrapper")
    if not tag_and_data and not deleted:
        raise Invalid(at, "a value or a deletion")
    return tag_and_data, deleted


# ----------------------------------------------------------------------------- keys


def encode_prefix(table_id: int, index_id: int) -> bytes:
    return encode_unsigned(table_id, descending=False) + encode_unsigned(index_id, descending=False)


def encode_family(family: int) -> bytes:
    number = encode_unsigned(family, descending=False)
    if family == 0:
        return number
    return number + encode_unsigned(len(number), descending=False)


def decode_family(key: bytes, at: int) -> int:
    """The family whose suffix is everything from here to the end of the key."""
    byte_at(key, at, "a family")
    length = key[-1] - 0x88
    # Decision: the length is a single byte. A family 0 with a length behind it is understood and
    # not canonical, as is a padded number.
    if length != len(key) - 1 - at:
        raise Invalid(at, "a family and nothing else")
    if length == 0:
        return 0
    family, end = decode_unsigned(key, at, descending=False)
    if end != len(key) - 1:
        raise Invalid(at, "a family as long as its length says")
    return family


# ----------------------------------------------------------------------------- layouts


class Form(Enum):
    """How the value of a pair is written."""

    TUPLE = "tuple"
    BARE = "bare"  # one column without a tag of its own
    ENTRY = "entry"  # the suffix columns if the index is unique, then a tuple


@dataclass(frozen=True)
class Layout:
    """What the pairs of one index for one family look like."""

    index_id: int
    family: int
    form: Form
    parts: tuple[KeyPart, ...]
    held: tuple[int, ...]  # columns that only the value tells
    suffix: tuple[int, ...] = ()
    unique: bool = False

    @property
    def key_columns(self) -> tuple[int, ...]:
        return (*(part.column for part in self.parts), *self.suffix)

    def has_suffix_in_key(self, row: Row) -> bool:
        return not self.unique or any(row.get(part.column) is None for part in self.parts)

    def composites(self, table: KvTable) -> tuple[int, ...]:
        """Key columns that the value of this pair may have to repeat."""
        if self.family != 0:
            return ()
        types = types_of(table)
        return tuple(column for column in self.key_columns if types[column].may_be_composite)


def types_of(table: KvTable) -> dict[int, DatumType]:
    return {column.id: column.type for column in table.columns}


def primary_layouts(table: KvTable) -> Iterator[Layout]:
    """One for each family that may have a pair; the first family always has one."""
    keys = {part.column for part in table.primary_key}
    for family in with_first_family(table.families):
        held = tuple(column for column in family.columns if column not in keys)
        # Decision: a family of nothing but key columns has no pair, not even where it is the
        # default column's own family.
        if held or family.id == 0:
            bare = family.id != 0 and family.columns == (family.default,)
            yield Layout(
                index_id=table.primary_index_id,
                family=family.id,
                form=Form.BARE if bare else Form.TUPLE,
                parts=table.primary_key,
                held=held,
            )


def index_layouts(table: KvTable, index: KvIndex) -> Iterator[Layout]:
    for family in with_first_family(table.families):
        if index.by_family:
            stored = tuple(column for column in index.stored if column in family.columns)
        else:
            stored = index.stored if family.id == 0 else ()
        if stored or family.id == 0:
            yield Layout(
                index_id=index.id,
                family=family.id,
                form=Form.ENTRY if family.id == 0 else Form.TUPLE,
                parts=index.parts,
                held=stored,
                suffix=index.suffix,
                unique=index.unique,
            )


def with_first_family(families: Iterable[Family]) -> list[Family]:
    by_id = {0: Family(id=0, columns=())} | {family.id: family for family in families}
    return [by_id[family] for family in sorted(by_id)]


def layouts_of(table: KvTable) -> list[Layout]:
    secondary = (layout for index in table.indexes for layout in index_layouts(table, index))
    return [*primary_layouts(table), *secondary]


# ----------------------------------------------------------------------------- writing pairs


def encode_row(table: KvTable, row: Row) -> list[Pair]:
    return encode_pairs(table, primary_layouts(table), row)


def encode_entry(table: KvTable, index: KvIndex, row: Row) -> list[Pair]:
    return encode_pairs(table, index_layouts(table, index), row)


def encode_pairs(table: KvTable, layouts: Iterable[Layout], row: Row) -> list[Pair]:
    pairs = (encode_pair(table, layout, row) for layout in layouts)
    return [pair for pair in pairs if pair is not None]


def encode_pair(table: KvTable, layout: Layout, row: Row) -> Pair | None:
    """None where all columns of a family are NULL, for which nothing is written."""
    if layout.family != 0 and all(row.get(column) is None for column in layout.held):
        return None
    return encode_pair_key(table, layout, row), encode_pair_value(table, layout, row)


def encode_pair_key(table: KvTable, layout: Layout, row: Row) -> bytes:
    types = types_of(table)
    parts = [
        encode_key(row.get(part.column), types[part.column], part.descending)
        for part in layout.parts
    ]
    suffix = encode_suffix(table, layout, row) if layout.has_suffix_in_key(row) else b""
    prefix = encode_prefix(table.id, layout.index_id)
    return prefix + b"".join(parts) + suffix + encode_family(layout.family)


def encode_suffix(table: KvTable, layout: Layout, row: Row) -> bytes:
    types = types_of(table)
    return b"".join(
        encode_key(row.get(column), types[column], descending=False) for column in layout.suffix
    )


def encode_pair_value(table: KvTable, layout: Layout, row: Row) -> bytes:
    types = types_of(table)
    if layout.form is Form.BARE:
        (column,) = layout.held
        return encode_legacy(row[column], types[column])
    repeated = [
        column
        for column in layout.composites(table)
        if is_composite(row.get(column), types[column])
    ]
    data = encode_tuple({column: row.get(column) for column in (*layout.held, *repeated)}, types)
    if layout.form is Form.TUPLE:
        return bytes([ValueTag.TUPLE]) + data
    suffix = encode_suffix(table, layout, row) if layout.unique else b""
    return bytes([ValueTag.BYTES]) + suffix + data


# ----------------------------------------------------------------------------- judging pairs


def classify_pair(table: KvTable, key: bytes, value: bytes) -> str | None:
    """What is wrong with a pair; None if some row of the table is written exactly like this."""
    # Decision: table and index are recognised by the bytes of their numbers. A padded number is
    # outside the span of the index, and therefore unexpected.
    layouts = [
        layout
        for layout in layouts_of(table)
        if key.startswith(encode_prefix(table.id, layout.index_id))
    ]
    if not layouts:
        return "unexpected_key"
    try:
        layout, row, composites_agree = read_pair(table, layouts, key, value)
    except Invalid:
        return "invalid_encoding"
    if not composites_agree:
        return "invalid_composite_encoding"
    _, value = decode_mvcc(value)
    if encode_pair(table, layout, row) != (key, value[CHECKSUM_LENGTH:]):
        return "noncanonical_encoding"
    return None


def read_pair(
    table: KvTable, layouts: list[Layout], key: bytes, value: bytes
) -> tuple[Layout, dict[int, Datum | None], bool]:
    """The layout, the row, and whether key and value agree on what both of them tell."""
    # Decision: a header of the storage engine is no part of the value, whatever it holds.
    tag_and_data = decode_value(key, decode_mvcc(value)[1])
    key_row, family = read_key(table, layouts[0], key)
    layout = next((layout for layout in layouts if layout.family == family), None)
    if layout is None:
        raise Invalid(len(key), "a family that this index has")

    if layout.form is Form.BARE:
        (column,) = layout.held
        held = {column: decode_legacy(tag_and_data, types_of(table)[column])}
        return layout, key_row | held, True

    tag = ValueTag.TUPLE if layout.form is Form.TUPLE else ValueTag.BYTES
    # Decision: a value has the tag that its layout asks for or is invalid; in particular a tuple
    # where a bare column is expected, and the reverse.
    if byte_at(tag_and_data, 0, "a value") != tag:
        raise Invalid(0, f"the tag {tag.name}")
    at = 1
    if layout.form is Form.ENTRY and layout.unique:
        # Decision: where the suffix is in key and value, the value's is what counts, and another
        # one in the key is not canonical.
        suffix, at = read_suffix(table, layout, tag_and_data, at)
        key_row |= suffix
    return layout, *read_tuple(table, layout, key_row, tag_and_data, at)


def read_key(table: KvTable, layout: Layout, key: bytes) -> tuple[dict[int, Datum | None], int]:
    """The columns and the family; all layouts of an index have the same columns in the key."""
    types = types_of(table)
    at = len(encode_prefix(table.id, layout.index_id))
    row: dict[int, Datum | None] = {}
    for part in layout.parts:
        datum, at = decode_key(key, at, types[part.column], part.descending)
        row[part.column] = identifying(table, part.column, datum, at)
    if layout.has_suffix_in_key(row):
        suffix, at = read_suffix(table, layout, key, at)
        row |= suffix
    return row, decode_family(key, at)


def read_suffix(
    table: KvTable, layout: Layout, data: bytes, at: int
) -> tuple[dict[int, Datum | None], int]:
    types = types_of(table)
    row = {}
    for column in layout.suffix:
        datum, at = decode_key(data, at, types[column], descending=False)
        row[column] = identifying(table, column, datum, at)
    return row, at


def identifying(table: KvTable, column: int, datum: Datum | None, at: int) -> Datum | None:
    # Decision: NULL in a column that tells rows apart cannot be read. Elsewhere it can, also where
    # the column is never NULL: then the value is wrong, not its bytes.
    if datum is None and column in (part.column for part in table.primary_key):
        raise Invalid(at, f"no NULL in column {column}")
    return datum


def read_tuple(
    table: KvTable, layout: Layout, key_row: Row, data: bytes, at: int
) -> tuple[dict[int, Datum | None], bool]:
    """The whole row, and whether the composite columns agree with the key."""
    types = types_of(table)
    composites = layout.composites(table)
    # Decision: a column that this pair does not hold goes by its tag, whatever type the table gives
    # it and whatever the key says; a key column that is never composite is one of them.
    entries = decode_tuple(data, at, {column: types[column] for column in layout.held + composites})
    agree = all(entry.fits for entry in entries if entry.column in composites)
    if not all(entry.fits for entry in entries if entry.column in layout.held):
        raise Invalid(at, "every datum in the type of its column")

    found = last_datums(entries)
    row = dict(key_row)
    for column in layout.held:
        row[column] = found.get(column)
    for column in composites:
        told = found.get(column)
        agree &= composite_agrees(key_row[column], told, types[column])
        if told is not None and agree:
            row[column] = merged(key_row[column], told, types[column])
    return row, agree


def last_datums(entries: Iterable[TupleEntry]) -> dict[int, Datum | None]:
    # Decision: of a repeated column the last entry counts, and an explicit NULL counts as a column
    # that is not there: a NULL for a composite column means that its part in the value is missing.
    return {entry.column: entry.datum for entry in entries if entry.fits}


def composite_agrees(in_key: Datum | None, in_value: Datum | None, datum_type: DatumType) -> bool:
    if in_value is None:
        # Decision: the key shows what must be repeated by the datum it decodes to, so a zero that
        # is spelled in a strange way needs its part in the value as well.
        return not is_composite(in_key, datum_type)
    if in_key is None:
        return False
    if datum_type.kind is DatumKind.COLLATED:
        return True  # nobody can tell whether the contents belong to the collation key
    # Decision: the datums are compared, each in its canonical key, so that a key which is merely
    # not canonical does not count as a disagreement.
    key_of_value = encode_key(in_value, datum_type, descending=False)
    return key_of_value == encode_key(in_key, datum_type, descending=False)


def merged(in_key: Datum, in_value: Datum, datum_type: DatumType) -> Datum:
    if datum_type.kind is DatumKind.COLLATED:
        return (in_key[0], in_value[1])
    return in_value
