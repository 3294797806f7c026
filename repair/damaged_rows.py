# SPDX-License-Identifier: Apache-2.0
"""Rows of which a value is known to be wrong: they prove nothing about entries that use it.

An entry made from such a value would spread the damage, and one that differs from it may be the
last sound copy. So neither is written nor deleted before the row is mended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from repair.lost_rows import key_of
from scrub.model.defect import Defect, DefectKind
from scrub.model.table import Index, Table
from scrub.stores.repairing import Reason
from scrub.stores.row_entries import columns_believed

DAMAGED: Reason = (
    "the row is damaged: a value that this index uses is one that its column cannot have, so it "
    "proves nothing about the entry",
    "correct the row first, as its own defect says; then check and repair again",
)
_PHYSICAL = (
    DefectKind.NULL_VIOLATION,
    DefectKind.INVALID_ENCODING,
    DefectKind.INVALID_COMPOSITE,
    DefectKind.MISSING_FAMILY,
)


@dataclass(slots=True)
class DamagedRows:
    """The columns of each row that are damaged; None stands for the whole row."""

    columns: dict[tuple[str, object], set[str | None]] = field(default_factory=dict)

    def concern(self, defect: Defect, table: Table | None, index: Index | None) -> bool:
        """Whether an entry depends on a damaged value of its row."""
        if defect.primary_key is None or table is None or index is None:
            return False
        damaged = self.columns.get((defect.table, key_of(defect.primary_key)), set())
        if not damaged:
            return False
        used = {column.name for column in columns_believed(table, index)}
        return None in damaged or not damaged.isdisjoint(used)


def damaged_rows(defects: Iterable[Defect]) -> DamagedRows:
    """From the defects of the rows themselves."""
    found = DamagedRows()
    for defect in defects:
        if defect.kind in _PHYSICAL and defect.index is None and defect.primary_key is not None:
            place = (defect.table, key_of(defect.primary_key))
            found.columns.setdefault(place, set()).add(defect.column)
    return found
