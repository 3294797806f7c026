# SPDX-License-Identifier: Apache-2.0
"""What a check declares. Each check is one file; `checks.registry` lists them.

A check shares the scan of its table with the others: it says which columns it needs and what tasks
add up for it. Its docstring is the sentence that users see.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from checks.numbering import Relation
from scrub.model.defect import DefectKind
from scrub.model.plan import TablePlan
from scrub.model.table import Index, Table


class Check(ABC):
    """One kind of check, of whole tables or of their indexes."""

    name: ClassVar[str]
    finds: ClassVar[tuple[DefectKind, ...]]

    @abstractmethod
    def is_default_for(self, table: Table) -> bool:
        """Whether it is made where nobody names the checks to make."""

    @abstractmethod
    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:
        """What it gives outcomes for: indexes by name, or None for the whole table."""

    @abstractmethod
    def columns(
        self, table: Table, indexes: Sequence[Index], where: str | None = None
    ) -> tuple[str, ...]:
        """The table's columns that it needs, in the table's order."""

    @abstractmethod
    def adds_up(self, relation: Relation, slots: frozenset[int]) -> object:
        """What a task adds up for it while it scans a relation of columns; see `checks.specs`."""

    def notes(self, plan: TablePlan) -> tuple[str, ...]:  # noqa: ARG002
        """What a reader should know of its coverage, beyond what the plan of the table says."""
        return ()
