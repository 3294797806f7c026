# SPDX-License-Identifier: Apache-2.0
"""Which pairs belong to one row, where a table has several families, and which of them it lacks."""

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Numbers, Octets, compiled, inlined
from scrub.codec.kv.integers import same_octets
from scrub.codec.kv.layouts import Tables, columns_of, families_of

FAMILIES_KEPT = 62
"""Families beyond this one share a bit: of a table with more, some rows count as partial."""


@inlined
def is_same_row(data: Octets, begin: int, length: int, end: int, other_end: int) -> bool:
    """Whether the key at `end` is the next one of the row that data[begin:end] is a key of.

    Both start with the row's columns, of this length. A key that is not behind this one, such as
    the same once more, is a row of its own.
    """
    if length < 0 or end + length >= other_end:
        return False
    if not same_octets(data, begin, begin + length, data, end, end + length):
        return False
    for at in range(length, other_end - end):
        if begin + at == end:
            return True
        if data[begin + at] != data[end + at]:
            return data[begin + at] < data[end + at]
    return False


@inlined
def row_length(index: int, indexes: Numbers, keys: Numbers, spans: Numbers, begin: int) -> int:
    """How far the columns of a key go, to where its family begins."""
    end = begin
    for number in range(indexes[index, field.KEY_FROM], indexes[index, field.SUFFIX_TO]):
        if spans[keys[number, field.SLOT], field.SOURCE] >= 0:
            end = max(end, spans[keys[number, field.SLOT], field.SOURCE_END])
    return end - begin


@compiled
def is_partial(index: int, seen: int, tables: Tables) -> bool:
    """Whether a row lacks a family that has columns; `seen` has a bit for each that it has."""
    first, last = families_of(index, tables)
    for family in range(first, last):
        columns_from, columns_to = columns_of(family, tables)
        if columns_from < columns_to and not seen >> min(family - first, FAMILIES_KEPT) & 1:
            return True
    return False
