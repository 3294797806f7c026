# SPDX-License-Identifier: Apache-2.0
"""What compiled code can find wrong with bytes: a number there, a sentence here.

Compiled functions get an array `fault` of two numbers, the fault's code and its position, and give
a negative position as their result after setting it.
"""

from enum import IntEnum

from scrub.codec.kv.compiled import Fault, inlined


class Code(IntEnum):
    """Every fault; its text says what was expected where the bytes have something else."""

    NONE = 0
    CUT_OFF = 1
    INT_TAG = 2
    INT_RANGE = 3
    BYTES_TAG = 4
    ESCAPE = 5
    FLOAT_TAG = 6
    DECIMAL_TAG = 7
    DECIMAL_END = 8
    DECIMAL_PAIR = 9
    DECIMAL_EXPONENT = 10
    TIME_TAG = 11
    INTERVAL_TAG = 12
    INTERVAL_RANGE = 13
    TIMETZ_TAG = 14
    UUID_LENGTH = 15
    INET = 16
    BIT_TAG = 17
    BIT_LAST = 18
    ARRAY_TAG = 19
    ARRAY_BODY = 20
    VARINT = 21
    COLUMN_TYPE = 22
    LENGTH = 23
    LEFT_OVER = 24
    NULL = 25
    FAMILY = 26
    FAMILY_LENGTH = 27
    HEADER = 28
    CHECKSUM = 29
    VALUE_TAG = 30
    PREFIX = 31
    NO_SUCH_INDEX = 32
    COMPOSITE_MISSING = 33
    COMPOSITE_OTHER = 34
    COMPOSITE_TYPE = 35
    WRAPPER = 36
    TOMBSTONE = 37
    SPELLING = 38
    BOOL = 39
    NO_FIRST_FAMILY = 40
    RANGE = 41
    DIGITS = 42
    UTF8 = 43
    TOO_LONG = 44


TEXTS = {
    Code.NONE: "",
    Code.CUT_OFF: "more bytes",
    Code.INT_TAG: "the first byte of an integer, 80 to fd",
    Code.INT_RANGE: "an integer of 64 bits",
    Code.BYTES_TAG: "the marker of bytes in this direction, 12 ascending or 13 descending",
    Code.ESCAPE: "an escape's second byte, or the end of the bytes",
    Code.FLOAT_TAG: "the first byte of a float, 02 to 06",
    Code.DECIMAL_TAG: "the first byte of a decimal, 18 to 36",
    Code.DECIMAL_END: "digits of a decimal, and 00 after them",
    Code.DECIMAL_PAIR: "two digits of a decimal, 0 to 99",
    Code.DECIMAL_EXPONENT: "an exponent of a decimal",
    Code.TIME_TAG: "the marker of a time, 14",
    Code.INTERVAL_TAG: "the marker of an interval, 16",
    Code.INTERVAL_RANGE: "an interval whose length fits 64 bits",
    Code.TIMETZ_TAG: "the marker of a time with zone, 3c",
    Code.UUID_LENGTH: "16 bytes of a UUID",
    Code.INET: "a network address: family, mask, and 4 or 16 bytes",
    Code.BIT_TAG: "the marker of bits in this direction, 3a ascending or 3b descending",
    Code.BIT_LAST: "how many bits of the last word count",
    Code.ARRAY_TAG: "the marker of an array in this direction, 3f ascending or 40 descending",
    Code.ARRAY_BODY: "an array of one dimension with elements of the column's type",
    Code.VARINT: "the end of a number of at most 64 bits",
    Code.COLUMN_TYPE: "a value of the column's type",
    Code.LENGTH: "a length that the value has room for",
    Code.LEFT_OVER: "the end",
    Code.NULL: "a value, since the column is never NULL",
    Code.FAMILY: "a column family that this index has",
    Code.FAMILY_LENGTH: "the length of the family's number",
    Code.HEADER: "a value of at least five bytes: checksum and tag",
    Code.CHECKSUM: "another checksum",
    Code.VALUE_TAG: "another value tag",
    Code.PREFIX: "the numbers of a table and an index",
    Code.NO_SUCH_INDEX: "an index that the catalog knows",
    Code.COMPOSITE_MISSING: "the part of a composite that is in the value",
    Code.COMPOSITE_OTHER: "a value whose key is the one that is there",
    Code.COMPOSITE_TYPE: "a composite's part of the column's type",
    Code.WRAPPER: "a wrapped entry or its deletion",
    Code.TOMBSTONE: "a value",
    Code.SPELLING: "the canonical encoding of this value",
    Code.BOOL: "a boolean, 0a or 0b",
    Code.NO_FIRST_FAMILY: "a pair of family 0, which every row has",
    Code.RANGE: "a value in the range of the column's type",
    Code.DIGITS: "no more digits than the column's type has",
    Code.UTF8: "text in UTF-8",
    Code.TOO_LONG: "no more characters than the column's type has",
}


@inlined
def fail(fault: Fault, code: int, at: int) -> int:
    """Note what is wrong and where; the result is what a reader returns then."""
    fault[0] = code
    fault[1] = at
    return -1
