# SPDX-License-Identifier: Apache-2.0
"""What a commit of the table changes in an index: entries to delete and entries to add. Pure.

A commit that rewrites a file removes and adds the same rows. Copies that both sides have cancel
each other out, so that only real changes are written.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scrub.codec.digest import RowDigests, Salt

_SIGN = "scrub sign of change"
SIFT_ROWS = 20_000
"""From so many rows on, equal ones are found by digest; fewer are compared directly."""


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """Entries to delete from an index and entries to add; each copy is a row."""

    taken: pa.Table
    added: pa.Table

    @property
    def entries(self) -> int:
        return int(self.taken.num_rows + self.added.num_rows)


class ChangeSum:
    """Collects entries that came and went; the result is what does not cancel out."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._came: list[pa.Table] = [schema.empty_table()]
        self._went: list[pa.Table] = [schema.empty_table()]

    def came(self, entries: pa.Table) -> None:
        self._came.append(entries.select(self._schema.names).cast(self._schema))

    def went(self, entries: pa.Table) -> None:
        self._went.append(entries.select(self._schema.names).cast(self._schema))

    def result(self) -> IndexChanges:
        came, went = pa.concat_tables(self._came), pa.concat_tables(self._went)
        if came.num_rows and went.num_rows:
            if came.num_rows + went.num_rows >= SIFT_ROWS:
                came, went = _sifted(came, went)
            return _difference(came, went)
        return IndexChanges(taken=went, added=came)


def _difference(came: pa.Table, went: pa.Table) -> IndexChanges:
    """Each entry as many times as one side has more copies of it than the other."""
    names = came.column_names
    signed = pa.concat_tables([_signed(came, 1), _signed(went, -1)])
    sums = signed.group_by(names).aggregate([(_SIGN, "sum")])
    counts = sums.column(f"{_SIGN}_sum")
    return IndexChanges(
        taken=_copies(sums, pc.negate(counts)).select(names).cast(came.schema),
        added=_copies(sums, counts).select(names).cast(came.schema),
    )


def _signed(entries: pa.Table, sign: int) -> pa.Table:
    return entries.append_column(_SIGN, pa.repeat(pa.scalar(sign, pa.int64()), len(entries)))


def _copies(entries: pa.Table, counts: pa.ChunkedArray) -> pa.Table:
    """Each entry as many times as its count says; none if that is zero or negative."""
    times = np.maximum(counts.to_numpy(), 0)
    return entries.take(pa.array(np.repeat(np.arange(len(times)), times)))


def _sifted(came: pa.Table, went: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both sides without the rows that cancel out, which digests identify as they do in checks.

    Rows with one first digest are left out if their number and the sum of their second digests are
    equal on both sides. The salt is new each time, so data cannot be made to collide.
    """
    salt = Salt.fresh()
    sides = [_digests(came, salt), _digests(went, salt)]
    first = np.concatenate([side.first for side in sides])
    second = np.concatenate([sides[0].second, np.negative(sides[1].second)])
    sign = np.concatenate([np.ones(len(came), np.int64), -np.ones(len(went), np.int64)])
    order = np.argsort(first)
    ordered = first[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    cancels = (np.add.reduceat(sign[order], starts) == 0) & (
        np.add.reduceat(second[order], starts) == 0
    )
    lengths = np.diff(np.append(starts, len(order)))
    differs: NDArray[np.bool_] = np.empty(len(order), np.bool_)
    differs[order] = ~np.repeat(cancels, lengths)
    return (
        came.filter(pa.array(differs[: len(came)])),
        went.filter(pa.array(differs[len(came) :])),
    )


def _digests(entries: pa.Table, salt: Salt) -> RowDigests:
    columns = [column.combine_chunks() for column in entries.columns]
    plain = [c if isinstance(c, pa.Array) else pa.concat_arrays(c.chunks) for c in columns]
    return RowDigests.start(entries.num_rows, salt).fold(plain, salt)
