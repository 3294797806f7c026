# SPDX-License-Identifier: Apache-2.0
"""The look for rows whose foreign key refers to no row, given the keys of the parent.

Rides in the scan of the table; see `checks.table_look`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checks.column_faults import Fault
from checks.keys.findings import refers_to_nothing
from checks.keys.held_keys import HeldKeys
from checks.keys.split_rows import Key
from checks.part_faults import FaultCounts
from scrub.codec.arrow_text import text_of
from scrub.model.defect import DefectKind
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyLook:
    """A look at one foreign key. A NULL in it refers to nothing, which is no violation."""

    constraint: str
    columns: Key
    parent: str  # the table that is referred to
    keys: HeldKeys  # of all its rows

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:
        found = int(self.keys.lacks(reader.converted(stored, self.columns), self.columns).sum())
        return {(self.constraint, DefectKind.FOREIGN_KEY_VIOLATION): found} if found else {}

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:
        batch = reader.converted(stored, self.columns)
        for row in np.flatnonzero(self.keys.lacks(batch, self.columns)):
            detail = refers_to_nothing(
                self.columns, _texts(batch, int(row), self.columns), self.parent
            )
            yield Fault(int(row), DefectKind.FOREIGN_KEY_VIOLATION, self.constraint, detail)


def _texts(batch: pa.RecordBatch, row: int, key: Key) -> list[str | None]:
    return [text_of(batch.column(column.name)[row], column.type) for column in key]
