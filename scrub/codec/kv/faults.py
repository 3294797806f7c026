# SPDX-License-Identifier: Apache-2.0
"""What compiled code can find wrong with bytes: a number there, a sentence here.

Compiled functions get an array `fault` of two numbers, the fault's code and its position, and give
a negative position as their result after setting it.
"""

from enum import IntEnum

from scrub.codec.kv.compiled import Fault, inlined


class Code(IntEnum):
    """Every fault; its text says what was expected where the bytes have something else."""

    text: str

    def __new__(cls, number: int, text: str = "") -> "Code":
        """The number is all that compiled code sees of a fault."""
        code = int.__new__(cls, number)
        code._value_ = number
        code.text = text
        return code

    NONE = 0
    CUT_OFF = 1, "more bytes"
    INT_TAG = 2, "the first byte of an integer, 80 to fd"
    INT_RANGE = 3, "an integer of 64 bits"
    BYTES_TAG = 4, "the marker of bytes in this direction, 12 ascending or 13 descending"
    ESCAPE = 5, "an escape's second byte, or the end of the bytes"
    FLOAT_TAG = 6, "the first byte of a float, 02 to 06"
    DECIMAL_TAG = 7, "the first byte of a decimal, 18 to 36"
    DECIMAL_END = 8, "digits of a decimal, and 00 after them"
    DECIMAL_PAIR = 9, "two digits of a decimal, 0 to 99"
    DECIMAL_EXPONENT = 10, "an exponent of a decimal"
    TIME_TAG = 11, "the marker of a time, 14"
    INTERVAL_TAG = 12, "the marker of an interval, 16"
    INTERVAL_RANGE = 13, "an interval whose length fits 64 bits"
    TIMETZ_TAG = 14, "the marker of a time with zone, 3c"
    UUID_LENGTH = 15, "16 bytes of a UUID"
    INET = 16, "a network address: family, mask, and 4 or 16 bytes"
    BIT_TAG = 17, "the marker of bits in this direction, 3a ascending or 3b descending"
    BIT_LAST = 18, "how many bits of the last word count"
    ARRAY_TAG = 19, "the marker of an array in this direction, 3f ascending or 40 descending"
    ARRAY_BODY = 20, "an array of one dimension with elements of the column's type"
    VARINT = 21, "the end of a number of at most 64 bits"
    COLUMN_TYPE = 22, "a value of the column's type"
    LENGTH = 23, "a length that the value has room for"
    LEFT_OVER = 24, "the end"
    NULL = 25, "a value, since the column is never NULL"
    FAMILY = 26, "a column family that this index has"
    FAMILY_LENGTH = 27, "the length of the family's number"
    HEADER = 28, "a value of at least five bytes: checksum and tag"
    CHECKSUM = 29, "another checksum"
    VALUE_TAG = 30, "another value tag"
    PREFIX = 31, "the numbers of a table and an index"
    NO_SUCH_INDEX = 32, "an index that the catalog knows"
    COMPOSITE_MISSING = 33, "the part of a composite that is in the value"
    COMPOSITE_OTHER = 34, "a value whose key is the one that is there"
    COMPOSITE_TYPE = 35, "a composite's part of the column's type"
    WRAPPER = 36, "a wrapped entry or its deletion"
    TOMBSTONE = 37, "a value"
    SPELLING = 38, "the canonical encoding of this value"
    BOOL = 39, "a boolean, 0a or 0b"
    NO_FIRST_FAMILY = 40, "a pair of family 0, which every row has"
    RANGE = 41, "a value in the range of the column's type"
    DIGITS = 42, "no more digits than the column's type has"
    UTF8 = 43, "text in UTF-8"
    TOO_LONG = 44, "no more characters than the column's type has"


@inlined
def fail(fault: Fault, code: int, at: int) -> int:
    """Note what is wrong and where; the result is what a reader returns then."""
    fault[0] = code
    fault[1] = at
    return -1
