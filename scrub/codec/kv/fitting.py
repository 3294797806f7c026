# SPDX-License-Identifier: Apache-2.0
"""Whether datums are values of their column's type: a kind's bytes can say more than that."""

import numpy as np
from numba import int64

from scrub.codec.kv import field, kinds
from scrub.codec.kv.anydatum import elements_of
from scrub.codec.kv.compiled import Octets, allocating, compiled
from scrub.codec.kv.datums import read_body_scalar
from scrub.codec.kv.decimals import fits_digits
from scrub.codec.kv.faults import Code
from scrub.codec.kv.held_rows import Row
from scrub.codec.kv.integers import get_int, get_word
from scrub.codec.kv.layouts import Tables
from scrub.model.kv import Rule

_ANY, _BETWEEN, _DIGITS = int(Rule.ANY), int(Rule.BETWEEN), int(Rule.DIGITS)
_TEXT, _SINGLE = int(Rule.TEXT), int(Rule.SINGLE)

_WITHOUT_SIGN = np.uint64((1 << 63) - 1)
_INFINITY = np.uint64(0x7FF0000000000000)
_SINGLE_END = np.uint64(0x47EFFFFFF0000000)
"""The bits of the first double that no float of 32 bits is rounded down from."""


@compiled
def _characters(data: Octets, at: int, end: int) -> int:
    """How many characters of UTF-8 bytes are; -1 if they are something else."""
    count = int64(0)
    while at < end:
        octet = int64(data[at])
        count += 1
        at += 1
        if octet < 0x80:
            continue
        # How many bytes follow, and between what the first of them must be: there is one
        # spelling for each character, none for surrogates, and none beyond 10ffff.
        low, high = int64(0x80), int64(0xBF)
        if 0xC2 <= octet <= 0xDF:
            more = 1
        elif 0xE0 <= octet <= 0xEF:
            more = 2
            if octet == 0xE0:
                low = int64(0xA0)
            elif octet == 0xED:
                high = int64(0x9F)
        elif 0xF0 <= octet <= 0xF4:
            more = 3
            if octet == 0xF0:
                low = int64(0x90)
            elif octet == 0xF4:
                high = int64(0x8F)
        else:
            return -1
        if at + more > end:
            return -1
        for _ in range(more):
            if not low <= int64(data[at]) <= high:
                return -1
            low, high = int64(0x80), int64(0xBF)
            at += 1
    return count


@compiled
def _misfit_of_scalar(rule: int, low: int, high: int, held: Octets, begin: int, end: int) -> int:
    if rule == _BETWEEN:
        number = get_int(held, begin)
        return Code.NONE if low <= number <= high else Code.RANGE
    if rule == _DIGITS:
        return Code.NONE if fits_digits(held, begin, end, low, high) else Code.DIGITS
    if rule == _TEXT:
        characters = _characters(held, begin, end)
        if characters < 0:
            return Code.UTF8
        return Code.NONE if characters <= high else Code.TOO_LONG
    if rule == _SINGLE:
        size = get_word(held, begin) & _WITHOUT_SIGN
        return Code.RANGE if _SINGLE_END <= size < _INFINITY else Code.NONE
    return Code.NONE


@allocating
def _misfit_of_array(
    rule: int, low: int, high: int, kind: int, held: Octets, begin: int, end: int
) -> int:
    """The first thing that is wrong with an element; NULL among them is none of it."""
    if kind == kinds.BOOL:
        return Code.NONE
    fault = np.zeros(2, dtype=np.int64)
    count, bitmap, position = elements_of(held, begin, end, fault)
    room = np.empty(16 * (end - begin) + 64, dtype=np.uint8)
    for element in range(count):
        if bitmap >= 0 and (held[bitmap + element // 8] >> np.uint8(element % 8)) & 1:
            continue
        position, size = read_body_scalar(kind, held, position, end, room, 0, fault)
        found = _misfit_of_scalar(rule, low, high, room, 0, size)
        if found != Code.NONE:
            return found
    return Code.NONE


@compiled
def _misfit(rule: int, low: int, high: int, kind: int, held: Octets, begin: int, end: int) -> int:
    if kind >= kinds.ARRAY:
        return _misfit_of_array(rule, low, high, kind - kinds.ARRAY, held, begin, end)
    return _misfit_of_scalar(rule, low, high, held, begin, end)


@compiled
def misfit(domain: int, slot: int, tables: Tables, row: Row, may_be_null: bool) -> int:
    """What is wrong with a column's datum: a code, 0 if nothing is."""
    domains, spans = tables.domains, row.spans
    begin, end = spans[slot, field.PART], spans[slot, field.PART_END]
    if begin < 0:
        begin, end = spans[slot, field.HELD], spans[slot, field.HELD_END]
        if begin < 0:
            return Code.NULL if domains[domain, field.NEVER_NULL] and not may_be_null else Code.NONE
        if domains[domain, field.DOMAIN_KIND] == kinds.COLLATED and spans[slot, field.SOURCE] >= 0:
            return Code.NONE  # a collation key is not text
    if domains[domain, field.RULE] == _ANY:
        return Code.NONE
    return _misfit(
        domains[domain, field.RULE],
        domains[domain, field.LOW],
        domains[domain, field.HIGH],
        domains[domain, field.DOMAIN_KIND],
        row.held,
        begin,
        end,
    )
