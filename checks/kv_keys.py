# SPDX-License-Identifier: Apache-2.0
"""Which pairs of a relation concern a table, told by the first bytes of their keys.

Several tables may share a relation. Pairs of the others are passed over, and keys of no table at
all are looked at for one of the tables only, so that each is reported once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrub.model.kv import KvTable


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """Keys that begin with one of the prefixes: only these are looked at, or only the others."""

    prefixes: tuple[bytes, ...] = ()
    wanted: bool = False

    def of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The pairs to look at; those without a value are deleted, and never are."""
        keys, values = batch.column("key"), batch.column("value")
        if keys.null_count:
            keys = pc.fill_null(keys, b"")
        chosen = pc.fill_null(pc.greater(pc.binary_length(values), 0), False)
        if self.prefixes or self.wanted:
            found = pa.array(np.zeros(len(keys), dtype=np.bool_))
            for prefix in self.prefixes:
                found = pc.or_(found, pc.starts_with(keys, prefix))
            chosen = pc.and_(chosen, found if self.wanted else pc.invert(found))
        pairs = pa.RecordBatch.from_arrays([keys, values], ["key", "value"])
        return pairs if pc.all(chosen, min_count=0).as_py() else pairs.filter(chosen)

    @property
    def condition(self) -> str:
        """The same in Spark SQL, for a frame whose keys are not NULL."""
        if not self.prefixes:
            return "length(value) > 0" if not self.wanted else "false"
        found = " OR ".join(f"startswith(key, X'{prefix.hex()}')" for prefix in self.prefixes)
        return f"length(value) > 0 AND {'' if self.wanted else 'NOT '}({found})"


def choose_keys(table: KvTable, others: Sequence[KvTable], strangers: bool) -> KeyChoice:
    """Pairs of a table among those of others; with `strangers`, also pairs that are of none."""
    if not others:
        return KeyChoice()
    own = prefixes_of(table)
    if not strangers:
        return KeyChoice(tuple(own), wanted=True)
    foreign = [prefix for other in others for prefix in prefixes_of(other) if prefix not in own]
    return KeyChoice(tuple(dict.fromkeys(foreign)))


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
