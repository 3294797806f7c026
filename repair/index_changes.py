# SPDX-License-Identifier: Apache-2.0
"""What a commit of the table changes in an index: entries that go, entries that come. Pure.

A commit that rewrites a file removes and adds the same rows; what both sides have cancels out, copy
by copy, so that only real changes are written.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_SIGN = "scrub sign of change"
_FOLD_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """Entries to take out of an index and entries to put in; copies are rows of their own."""

    taken: pa.Table
    added: pa.Table

    @property
    def entries(self) -> int:
        return int(self.taken.num_rows + self.added.num_rows)


class ChangeSum:
    """Adds up entries that came and went; what is held is what does not cancel out so far."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._signed = schema.append(pa.field(_SIGN, pa.int64()))
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._folded_rows = 0

    def came(self, entries: pa.Table) -> None:
        self._add(entries, 1)

    def went(self, entries: pa.Table) -> None:
        self._add(entries, -1)

    @property
    def rows(self) -> int:
        """How many entries are held, an upper bound of the changes so far."""
        return self._rows

    def result(self) -> IndexChanges:
        self._fold()
        signed = pa.concat_tables([self._signed.empty_table(), *self._parts])
        return IndexChanges(
            taken=_copies(signed, pc.negate(signed.column(_SIGN))).select(self._schema.names),
            added=_copies(signed, signed.column(_SIGN)).select(self._schema.names),
        )

    def _add(self, entries: pa.Table, sign: int) -> None:
        if not entries.num_rows:
            return
        plain = entries.select(self._schema.names).cast(self._schema)
        signs = pa.repeat(pa.scalar(sign, pa.int64()), entries.num_rows)
        self._parts.append(plain.append_column(self._signed.field(_SIGN), signs))
        self._rows += entries.num_rows
        if self._rows > self._folded_rows + _FOLD_ROWS:
            self._fold()

    def _fold(self) -> None:
        if not self._parts:
            return
        keys = self._schema.names
        sums = pa.concat_tables(self._parts).group_by(keys).aggregate([(_SIGN, "sum")])
        sums = sums.rename_columns([n if n in keys else _SIGN for n in sums.column_names])
        left = sums.filter(pc.not_equal(sums.column(_SIGN), 0)).select(self._signed.names)
        self._parts = [left.cast(self._signed)]
        self._rows = self._folded_rows = left.num_rows


def _copies(entries: pa.Table, counts: pa.ChunkedArray) -> pa.Table:
    """Each entry as often as its count says, those of none or less left out."""
    numbers = [n for n, count in enumerate(counts.to_pylist()) for _ in range(max(count, 0))]
    return entries.take(pa.array(numbers, pa.int64()))
