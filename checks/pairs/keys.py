# SPDX-License-Identifier: Apache-2.0
"""Which pairs of a relation concern a table, told by the first bytes of their keys.

Several tables may share a relation. Pairs of the others are skipped, and keys of no table at
all are looked at for one of the tables only, so that each is reported once.

A pair without a value is a deletion where a relation keeps versions. Elsewhere its value is lost.
An entry is missing then; a row cannot be read, and is not taken for one that is gone: its entries
would be called dangling, and they are all that is left of it.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrub.model.kv import KeyChoice, KvTable


def chosen_pairs(choice: KeyChoice, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The pairs to look at, with empty bytes in the place of NULL."""
    keys, values = batch.column("key"), batch.column("value")
    if keys.null_count:
        keys = pc.fill_null(keys, b"")
    if values.null_count:
        values = pc.fill_null(values, b"")
    chosen = pc.greater(pc.binary_length(values), 0)
    if choice.entries is not None and not pc.all(chosen, min_count=0).as_py():
        chosen = pc.or_(chosen, pc.invert(_begin_with(keys, choice.entries)))
    if choice.prefixes or choice.wanted:
        found = _begin_with(keys, choice.prefixes)
        chosen = pc.and_(chosen, found if choice.wanted else pc.invert(found))
    pairs = pa.RecordBatch.from_arrays([keys, values], ["key", "value"])
    return pairs if pc.all(chosen, min_count=0).as_py() else pairs.filter(chosen)


def condition_of(choice: KeyChoice) -> str:
    """The same in Spark SQL, for a frame whose keys and values are not NULL."""
    live = "length(value) > 0"
    if choice.entries is not None:
        live = f"({live} OR NOT {_begins_with(choice.entries)})"
    if not choice.prefixes:
        return "false" if choice.wanted else live
    return f"{live} AND {'' if choice.wanted else 'NOT '}{_begins_with(choice.prefixes)}"


def _begin_with(keys: pa.Array, prefixes: Sequence[bytes]) -> pa.Array:
    found = pa.array(np.zeros(len(keys), dtype=np.bool_))
    for prefix in prefixes:
        found = pc.or_(found, pc.starts_with(keys, prefix))
    return found


def _begins_with(prefixes: Sequence[bytes]) -> str:
    found = [f"startswith(key, X'{prefix.hex()}')" for prefix in prefixes]
    return f"({' OR '.join(found) or 'false'})"


def choose_keys(
    table: KvTable, others: Sequence[KvTable], *, strangers: bool, has_versions: bool = False
) -> KeyChoice:
    """Pairs of a table among those of others; with `strangers`, also pairs that are of none."""
    own = prefixes_of(table)
    of_entries = tuple(prefix for prefix, index in own.items() if index is not None)
    entries = None if has_versions else of_entries
    if not others:
        return KeyChoice(entries=entries)
    if not strangers:
        return KeyChoice(tuple(own), wanted=True, entries=entries)
    foreign = [prefix for other in others for prefix in prefixes_of(other) if prefix not in own]
    return KeyChoice(tuple(dict.fromkeys(foreign)), entries=entries)


def prefixes_of(table: KvTable) -> dict[bytes, str | None]:
    """What the keys of a table's indexes begin with, and their names; None is the primary one."""
    from scrub.codec.kv.integers import put_uvarint

    room = np.zeros(32, dtype=np.uint8)
    found: dict[bytes, str | None] = {}
    indexes = [(table.primary_index_id, None), *((i.id, i.name) for i in table.indexes)]
    for number, name in indexes:
        end = put_uvarint(np.uint64(table.id), False, room, 0)
        end = put_uvarint(np.uint64(number), False, room, end)
        found[room[:end].tobytes()] = name
    return found


def primary_prefix(table: KvTable) -> tuple[bytes, ...]:
    """What the keys of a table's rows begin with."""
    return tuple(prefix for prefix, index in prefixes_of(table).items() if index is None)
