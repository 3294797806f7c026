# SPDX-License-Identifier: Apache-2.0
"""A check that nobody needs, in one file: what somebody who adds a check has to write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checks.check import SqlFault, TableCheck
from checks.column_faults import Fault
from checks.part_faults import FaultCounts
from scrub.model.defect import DefectKind
from scrub.model.table import Column, Table
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch

DEAREST = 90
_KIND, _SUBJECT = DefectKind.INVALID_ENCODING, "dearest"
_DETAIL = f"customer_id is more than {DEAREST}"


class DearestCheck(TableCheck):
    """No customer has a number above the dearest."""

    name = "dearest"
    finds = (_KIND,)

    def columns(self, table: Table) -> tuple[str, ...]:
        return tuple(column.name for column in table.columns if column.name == "customer_id")

    def look(self, table: Table) -> "DearestLook":
        return DearestLook(tuple(map(table.column, self.columns(table))))

    def sql_faults(self, table: Table, readable: Sequence[str]) -> Sequence[SqlFault]:
        from scrub.spark.names import named

        columns = [name for name in self.columns(table) if name in readable]
        return [SqlFault(_SUBJECT, _KIND, named(name) > DEAREST, _DETAIL) for name in columns]


@dataclass(frozen=True, slots=True)
class DearestLook:
    columns: tuple[Column, ...]

    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:
        number = len(self._rows(stored, reader))
        return {(_SUBJECT, _KIND): number} if number else {}

    def faults(self, stored: StoredBatch, reader: SplitReader) -> Iterator[Fault]:
        return (Fault(int(row), _KIND, _SUBJECT, _DETAIL) for row in self._rows(stored, reader))

    def _rows(self, stored: StoredBatch, reader: SplitReader) -> Any:
        values = reader.converted(stored, self.columns).column(0)
        return np.flatnonzero(pc.fill_null(pc.greater(values, DEAREST), False))


class BrokenCheck(DearestCheck):
    """The same, made by somebody who makes mistakes."""

    def look(self, table: Table) -> "BrokenLook":
        return BrokenLook(super().look(table).columns)


class BrokenLook(DearestLook):
    def count(self, stored: StoredBatch, reader: SplitReader) -> FaultCounts:  # noqa: ARG002
        raise ValueError("it holds a secret")
