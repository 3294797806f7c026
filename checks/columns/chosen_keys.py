# SPDX-License-Identifier: Apache-2.0
"""The primary keys of the rows that `--where` chooses, by which their entries are found.

Tasks return the digests that the scan gives these keys, so that it only has to look them up. They
travel to every task: if there are too many for that, both sides are joined.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from checks.jobs import Jobs
from checks.keys.held_keys import HeldKeys
from checks.keys.split_rows import Key, SplitRows, batches_of, is_word
from checks.numbering import Relation
from checks.parts import Part, spread
from checks.specs import rows_looked_at
from checks.task_rows import as_batch
from checks.task_sums import TASKS_PER_CORE, NumberedSplit
from checks.work import Work
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.stores.unreadable import UnreadableSplit

BYTES_MAX = 64 << 20
"""The keys of a table take at most so many bytes on their way; a set takes two to four times as
many."""

_UNEVEN = 4  # one task may have so many times its share
_SHARE_MIN = 1 << 20
_PIECE = 1 << 18  # bytes in a row: Java's collector takes trouble over large arrays
_SCHEMA = "digests binary"  # NULL: too many


@dataclass(frozen=True, slots=True)
class _Task:
    rows: SplitRows
    key: Key
    salt: Salt
    bytes_max: int


def chosen_keys(
    jobs: Jobs, relation: Relation, parts: Sequence[Part], salt: Salt
) -> HeldKeys | None:
    """The primary keys of the chosen rows of a table that tasks open; None: they are too many."""
    table = relation.table.table
    splits = [NumberedSplit(part.number, relation.number, s) for part in parts for s in part.splits]
    given = spread(splits, TASKS_PER_CORE * jobs.cores)
    key = tuple(map(table.column, table.primary_key))
    task = _Task(
        rows=SplitRows(
            splits=(),
            looked_at=rows_looked_at(relation.table),
            storage_options=relation.side.facts.storage_options,
        ),
        key=key,
        salt=salt,
        bytes_max=max(_UNEVEN * BYTES_MAX // max(len(given), 1), min(_SHARE_MIN, BYTES_MAX)),
    )
    found = jobs.arrow(Work(given=given, task=partial(_keys_of, task=task), schema=_SCHEMA))
    octets = found.column("digests")
    if octets.null_count:
        return None
    pieces = [np.frombuffer(piece.as_buffer(), dtype=np.uint64) for piece in octets]
    words = np.concatenate([np.empty(0, dtype=np.uint64), *pieces])
    if words.nbytes > BYTES_MAX:
        return None
    return HeldKeys(words if is_word(key) else words.reshape(-1, 2), salt)


def _keys_of(splits: Sequence[NumberedSplit], task: _Task) -> Iterator[pa.RecordBatch]:
    """The digests of the chosen rows' primary keys; those with NULL are keys as well."""
    verify_digest()
    size = 0
    for numbered in splits:
        try:
            for batch in batches_of(numbered.split, task.rows, task.key):
                octets = _digests_of(batch, task)
                size += len(octets)
                if size > task.bytes_max:
                    yield as_batch([(None,)], _SCHEMA)
                    return
                for start in range(0, len(octets), _PIECE):
                    yield as_batch([(octets[start : start + _PIECE],)], _SCHEMA)
        except UnreadableSplit:
            continue  # the scan says so; without its rows, nobody misses their entries


def _digests_of(batch: pa.RecordBatch, task: _Task) -> bytes:
    columns = [batch.column(column.name) for column in task.key]
    digests = RowDigests.start(batch.num_rows, task.salt).fold(columns, task.salt)
    if is_word(task.key):
        return digests.first.tobytes()
    return np.column_stack([digests.first, digests.second]).tobytes()
