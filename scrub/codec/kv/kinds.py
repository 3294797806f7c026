# SPDX-License-Identifier: Apache-2.0
"""Kinds of datums as numbers for compiled code, and how a datum is held between bytes and bytes.

A datum, once read, is a slice of a byte array in a form of our own, the same whether it came from a
key or from a value:

    BOOL                     one byte, 0 or 1
    INT, FLOAT               one word: eight bytes, least significant first; of a float its bits
    TIMESTAMP                two words: seconds and nanoseconds
    INTERVAL                 three words: months, days and nanoseconds
    TIMETZ                   two words: microseconds and offset
    DECIMAL                  its value form (scrub.codec.kv.decimals)
    BYTES, UUID, INET        the bytes
    COLLATED                 from a key its collation key, from a value its contents
    BIT                      one word with the number of bits, then big-endian words
    ARRAY + element's kind   the array's body as values hold it

All forms are canonical: equal datums are equal bytes.
"""

from scrub.model.kv import DatumKind, DatumType

# In the order of DatumKind
BOOL, INT, FLOAT, DECIMAL, BYTES, COLLATED = 0, 1, 2, 3, 4, 5
TIMESTAMP, INTERVAL, TIMETZ, UUID, INET, BIT = 6, 7, 8, 9, 10, 11
ARRAY = 16

_NUMBERS: dict[DatumKind, int] = {
    kind: number for number, kind in enumerate(DatumKind) if kind is not DatumKind.ARRAY
}


def kind_number(datum_type: DatumType) -> int:
    """The number that compiled code knows a type by."""
    if datum_type.kind is DatumKind.ARRAY:
        assert datum_type.element is not None, "an array has elements of some kind"
        return ARRAY + _NUMBERS[datum_type.element]
    return _NUMBERS[datum_type.kind]
