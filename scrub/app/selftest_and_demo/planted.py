# SPDX-License-Identifier: Apache-2.0
"""The interface of a fault, and the result of planting one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from scrub.app.selftest_and_demo.fault_ground import Ground
from scrub.app.selftest_and_demo.key_values import DefectKey
from scrub.app.selftest_and_demo.table_copy import Edit
from scrub.model.defect import DefectKind
from scrub.model.table import Index, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The changes that make a fault, and every defect that a check must then report."""

    edits: tuple[Edit, ...]
    expected: tuple[DefectKey, ...]


class IndexFault(ABC):
    """One way in which an index goes wrong.

    It changes index entries, or adds rows together with their entries. No row is ever changed, so
    no fault has to evaluate an expression.
    """

    name: ClassVar[str]

    def why_not(self, table: Table, index: Index) -> str | None:  # noqa: ARG002
        """Why an index of this definition cannot have the fault; None if it can."""
        return None

    @abstractmethod
    def plant(self, ground: Ground, index: Index) -> Planted:
        """Plant it on rows of its own; NoPlace when the data has none for it."""


def entry_added(ground: Ground, index: Index, entry: pa.Table, kind: DefectKind) -> Planted:
    """One entry too many."""
    expected = ground.defect(kind, index, entry)
    return Planted(edits=(Edit(index=index.name, add=entry),), expected=(expected,))


def entry_replaced(ground: Ground, index: Index, row: int, entry: pa.Table) -> Edit:
    """Another entry in the place of a row's own."""
    return Edit(index=index.name, drop=(ground.entry_position(index, row),), add=entry)
