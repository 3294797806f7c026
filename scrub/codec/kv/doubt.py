# SPDX-License-Identifier: Apache-2.0
"""What rows and entries hold that their columns cannot have, and what follows for an index."""

import numpy as np

from scrub.codec.kv.compiled import Numbers, allocating, compiled, inlined
from scrub.codec.kv.faults import Code
from scrub.codec.kv.fitting import misfit
from scrub.codec.kv.held_rows import HELD, PART, SUSPECT, Room
from scrub.codec.kv.kinds import COLLATED
from scrub.codec.kv.layouts import (
    COLUMN_SLOT,
    COLUMNS_FROM,
    COLUMNS_TO,
    DOMAINS_FROM,
    DOMAINS_TO,
    FAMILIES_FROM,
    FAMILIES_TO,
    IS_PRIMARY,
    KEY_FROM,
    KIND,
    NEVER_NULL,
    ROLE,
    RULE,
    SLOT,
    STORED,
    SUFFIX_FROM,
    SUFFIX_TO,
    Tables,
)
from scrub.model.kv import Rule

_ANY = int(Rule.ANY)


@allocating
def _noted_unfit(
    unfit: Numbers, count: int, pair: int, index: int, slot: int, code: int
) -> Numbers:
    """The unfit values with one more."""
    if count == len(unfit):
        bigger = np.empty((2 * len(unfit) + 16, 4), dtype=np.int64)
        bigger[:count] = unfit
        unfit = bigger
    unfit[count, 0], unfit[count, 1] = pair, index
    unfit[count, 2], unfit[count, 3] = slot, code
    return unfit


@inlined
def _is_limited(domain: int, slot: int, tables: Tables, room: Room, may_be_null: bool) -> bool:
    """Whether there is anything to judge; most columns take all that their kind can say."""
    if tables.domains[domain, RULE] != _ANY:
        return True
    is_null = room.row.spans[slot, HELD] < 0
    return is_null and not may_be_null and tables.domains[domain, NEVER_NULL] == 1


@allocating
def judge_values(
    unfit: Numbers,
    count: int,
    pair: int,
    index: int,
    family: int,
    is_first: bool,
    tables: Tables,
    room: Room,
) -> tuple[Numbers, int]:
    """Note what the columns of a pair cannot have; those of its key once for all families.

    Of a row, NULL is judged when all of it was read.
    """
    indexes, keys, columns = tables.indexes, tables.keys, tables.columns
    row, spans, domains_from = room.row, room.row.spans, indexes[index, DOMAINS_FROM]
    is_primary = indexes[index, IS_PRIMARY] == 1
    first, last = indexes[index, KEY_FROM], indexes[index, SUFFIX_TO]
    for number in range(first, last if is_first else first):
        slot = keys[number, SLOT]
        if not _is_limited(domains_from + slot, slot, tables, room, is_primary):
            continue
        code = misfit(domains_from + slot, slot, tables, row, is_primary)
        if code != Code.NONE:
            spans[slot, SUSPECT] = 1
            unfit = _noted_unfit(unfit, count, pair, index, slot, code)
            count += 1
    for number in range(tables.families[family, COLUMNS_FROM], tables.families[family, COLUMNS_TO]):
        slot = columns[number, COLUMN_SLOT]
        if columns[number, ROLE] != STORED or not _is_limited(
            domains_from + slot, slot, tables, room, is_primary
        ):
            continue
        code = misfit(domains_from + slot, slot, tables, row, is_primary)
        if code != Code.NONE:
            spans[slot, SUSPECT] = 1
            unfit = _noted_unfit(unfit, count, pair, index, slot, code)
            count += 1
    return unfit, count


@allocating
def judge_nulls(
    unfit: Numbers, count: int, pair: int, index: int, tables: Tables, room: Room
) -> tuple[Numbers, int]:
    """Note which columns a row lacks: what no pair of it has is NULL."""
    spans, domains_from = room.row.spans, tables.indexes[index, DOMAINS_FROM]
    for slot in range(tables.indexes[index, DOMAINS_TO] - domains_from):
        if tables.domains[domains_from + slot, NEVER_NULL] and spans[slot, HELD] < 0:
            spans[slot, SUSPECT] = 1
            unfit = _noted_unfit(unfit, count, pair, index, slot, Code.NULL)
            count += 1
    return unfit, count


@compiled
def is_doubtful(target: int, tables: Tables, room: Room) -> bool:
    """Whether an index uses a column of which the row has a value that cannot be."""
    indexes, keys, columns = tables.indexes, tables.keys, tables.columns
    for number in range(indexes[target, KEY_FROM], indexes[target, SUFFIX_TO]):
        if room.row.spans[keys[number, SLOT], SUSPECT] == 1:
            return True
    for family in range(indexes[target, FAMILIES_FROM], indexes[target, FAMILIES_TO]):
        for number in range(
            tables.families[family, COLUMNS_FROM], tables.families[family, COLUMNS_TO]
        ):
            if room.row.spans[columns[number, COLUMN_SLOT], SUSPECT] == 1:
                return True
    return False


@compiled
def tells_two_rows(primary: int, tables: Tables, room: Room) -> bool:
    """Whether a row's value says something else than its key about which row it is."""
    spans, keys = room.row.spans, tables.keys
    for number in range(tables.indexes[primary, KEY_FROM], tables.indexes[primary, SUFFIX_FROM]):
        slot = keys[number, SLOT]
        if spans[slot, SUSPECT] == 1 and spans[slot, PART] >= 0 and keys[number, KIND] != COLLATED:
            return True
    return False
