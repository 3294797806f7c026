# SPDX-License-Identifier: Apache-2.0
"""What rows and entries hold that their columns cannot have, and what follows for an index."""

from scrub.codec.kv import field, kinds
from scrub.codec.kv.batches import longer
from scrub.codec.kv.compiled import Numbers, allocating, compiled, inlined
from scrub.codec.kv.faults import Code
from scrub.codec.kv.fitting import misfit
from scrub.codec.kv.held_rows import Room
from scrub.codec.kv.layouts import Tables, columns_of, families_of, key_columns
from scrub.model.kv import Rule

_ANY = int(Rule.ANY)


@allocating
def _noted_unfit(
    unfit: Numbers, count: int, pair: int, index: int, slot: int, code: int
) -> Numbers:
    """The unfit values with one more."""
    if count == len(unfit):
        unfit = longer(unfit)
    unfit[count, 0], unfit[count, 1] = pair, index
    unfit[count, 2], unfit[count, 3] = slot, code
    return unfit


@inlined
def _is_limited(domain: int, slot: int, tables: Tables, room: Room, may_be_null: bool) -> bool:
    """Whether there is anything to judge; most columns take all that their kind can say."""
    if tables.domains[domain, field.RULE] != _ANY:
        return True
    is_null = room.row.spans[slot, field.HELD] < 0
    return is_null and not may_be_null and tables.domains[domain, field.NEVER_NULL] == 1


@allocating
def _judge_value(
    unfit: Numbers, count: int, pair: int, index: int, slot: int, tables: Tables, room: Room
) -> tuple[Numbers, int]:
    """Note what is wrong with a column's datum, if anything is."""
    is_primary = tables.indexes[index, field.IS_PRIMARY] == 1
    domain = tables.indexes[index, field.DOMAINS_FROM] + slot
    code = misfit(domain, slot, tables, room.row, is_primary)
    if code == Code.NONE:
        return unfit, count
    room.row.spans[slot, field.SUSPECT] = 1
    return _noted_unfit(unfit, count, pair, index, slot, code), count + 1


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
    domains_from, is_primary = indexes[index, field.DOMAINS_FROM], indexes[index, field.IS_PRIMARY]
    first, last = indexes[index, field.KEY_FROM], indexes[index, field.SUFFIX_TO]
    for number in range(first, last if is_first else first):
        slot = keys[number, field.SLOT]
        if _is_limited(domains_from + slot, slot, tables, room, is_primary):
            unfit, count = _judge_value(unfit, count, pair, index, slot, tables, room)
    first, last = columns_of(family, tables)
    for number in range(first, last):
        slot = columns[number, field.COLUMN_SLOT]
        if columns[number, field.ROLE] == field.STORED and _is_limited(
            domains_from + slot, slot, tables, room, is_primary
        ):
            unfit, count = _judge_value(unfit, count, pair, index, slot, tables, room)
    return unfit, count


@allocating
def judge_nulls(
    unfit: Numbers, count: int, pair: int, index: int, tables: Tables, room: Room
) -> tuple[Numbers, int]:
    """Note which columns a row lacks: what no pair of it has is NULL."""
    spans, domains_from = room.row.spans, tables.indexes[index, field.DOMAINS_FROM]
    for slot in range(tables.indexes[index, field.DOMAINS_TO] - domains_from):
        if tables.domains[domains_from + slot, field.NEVER_NULL] and spans[slot, field.HELD] < 0:
            spans[slot, field.SUSPECT] = 1
            unfit = _noted_unfit(unfit, count, pair, index, slot, Code.NULL)
            count += 1
    return unfit, count


@compiled
def is_doubtful(target: int, tables: Tables, room: Room) -> bool:
    """Whether an index uses a column of which the row has a value that cannot be."""
    indexes, keys, columns = tables.indexes, tables.keys, tables.columns
    for number in range(indexes[target, field.KEY_FROM], indexes[target, field.SUFFIX_TO]):
        if room.row.spans[keys[number, field.SLOT], field.SUSPECT] == 1:
            return True
    families_from, families_to = families_of(target, tables)
    for family in range(families_from, families_to):
        first, last = columns_of(family, tables)
        for number in range(first, last):
            if room.row.spans[columns[number, field.COLUMN_SLOT], field.SUSPECT] == 1:
                return True
    return False


@compiled
def tells_two_rows(primary: int, tables: Tables, room: Room) -> bool:
    """Whether a row's value says something else than its key about which row it is."""
    spans, keys = room.row.spans, tables.keys
    first, last = key_columns(primary, tables)
    for number in range(first, last):
        slot = keys[number, field.SLOT]
        has_both = spans[slot, field.PART] >= 0 and keys[number, field.KIND] != kinds.COLLATED
        if has_both and spans[slot, field.SUSPECT] == 1:
            return True
    return False
