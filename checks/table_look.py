# SPDX-License-Identifier: Apache-2.0
"""What tasks do for a check of whole tables while they scan a split; plain values that travel.

Runs in Spark's Python workers. Counting rides in the scan that adds up fingerprints; naming
(`checks.fault_rows`) reads the splits with faults again.
"""

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.column_faults import Fault
from checks.part_faults import FaultCounts, PartFaults
from scrub.codec.predicate import truth
from scrub.model.defect import DefectKind
from scrub.model.predicate import Node
from scrub.model.table import Column
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch
from scrub.stores.unreadable import UnreadableSplit


class TableLook(Protocol):
    """How a check looks at rows as a file holds them.

    A value in the catalog's type comes from `reader.converted`; strings may come as dictionaries.
    It raises UnreadableSplit where the file holds something else: the split is then not read as far
    as this check is concerned. So it is with any other exception, which is the fault of the check.
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it reads, in the catalog's types."""

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:
        """How many faults the rows have; those with none are left out."""

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:
        """Each of them, by its row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """Which rows are looked at."""

    conditions: tuple[Node, ...] = ()  # all must be true
    columns: tuple[Column, ...] = ()  # what the conditions speak of

    def mask(self, stored: StoredBatch, reader: SplitReader) -> NDArray[np.bool_]:
        """Which rows fulfil all conditions."""
        batch = reader.converted(stored, self.columns)
        chosen = np.ones(stored.rows, dtype=np.bool_)
        for condition in self.conditions:
            chosen &= truth(condition, batch)
        return chosen

    def of(self, stored: StoredBatch, reader: SplitReader) -> StoredBatch:
        """The rows of a batch that are looked at."""
        if not self.conditions:
            return stored
        positions = pa.array(np.flatnonzero(self.mask(stored, reader)))
        arrays = {name: array.take(positions) for name, array in stored.arrays.items()}
        return StoredBatch(len(positions), arrays)


EVERY_ROW = RowChoice()


@dataclass(slots=True)
class Tally:
    """What one check counted in one split."""

    look: TableLook
    rows: int = 0
    counts: dict[tuple[str, DefectKind], int] = field(default_factory=dict)
    error: str | None = None

    def add(self, stored: StoredBatch, reader: SplitReader) -> None:
        """Count what is wrong in a batch."""
        if self.error is not None:
            return
        try:
            found = self.look.count(stored, reader)
        except UnreadableSplit as error:
            self.error = error.reason
            return
        except Exception as error:  # noqa: BLE001 - must not cost the other checks their scan
            self.error = _where_raised(error)
            return
        self.rows += stored.rows
        for of, number in found.items():
            self.counts[of] = self.counts.get(of, 0) + number

    def faults(self, misfits: Mapping[str, str]) -> PartFaults:
        """What was counted, and which columns the file does not hold as the catalog says."""
        if self.error is not None:
            return PartFaults(error=self.error)
        found = sorted({column.name for column in self.look.columns}.intersection(misfits))
        return PartFaults(rows=self.rows, counts=self.counts, misfits=tuple(found))


def _where_raised(error: Exception) -> str:
    """What a look raised and where; not its message, which may hold values of the data."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return (
        f"the check raises {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
    )
