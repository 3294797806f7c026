# SPDX-License-Identifier: Apache-2.0
"""What a check declares. Each check is one file; `checks.registry` lists them.

Every check of a table shares one scan of it. The index check compares entries, and the stages of
`checks.run` are made for it. A check of whole tables counts rows that are wrong by themselves: it
says what tasks count, and the same in the words of Spark SQL; the run adds up, resumes, sets aside
what cannot be read, and names what was counted. A check's docstring is the sentence users see.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checks.table_look import TableLook
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.plan import TablePlan
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.table import Column, Index, Table

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression


class Check(ABC):
    """One kind of check, of whole tables or of their indexes."""

    name: str
    finds: ClassVar[tuple[DefectKind, ...]]
    rank: ClassVar[int] = 2  # its place among the checks of a table, in every result

    @abstractmethod
    def is_default_for(self, table: Table) -> bool:
        """Whether it is made where nobody names the checks to make."""

    @abstractmethod
    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:
        """What it gives outcomes for: indexes by name, or None for the whole table."""


@dataclass(frozen=True, slots=True)
class SqlFault:
    """What Spark SQL counts: rows for which the condition is true have this fault."""

    subject: str  # the column, or whatever else the rule is about
    kind: DefectKind
    condition: "Expression"
    detail: str
    shown: tuple[Column, ...] = ()  # the columns whose values a defect shows


class TableCheck(Check):
    """A check of whole tables of columns: which rows are wrong by themselves."""

    rank = 0
    judges_types: ClassVar[bool] = False
    """Whether a column that is stored in another type is a defect; else it cannot be checked."""

    def is_default_for(self, table: Table) -> bool:  # noqa: ARG002
        return False

    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:  # noqa: ARG002
        return (None,)

    def refusal(self, table: Table) -> str | None:
        """Why it does not apply to a table, if that is so."""
        if table.kv is not None:
            return "it is for tables of columns"
        return None if self.columns(table) else "no column of the table concerns it"

    @abstractmethod
    def columns(self, table: Table) -> tuple[str, ...]:
        """The table's columns that it needs, in the table's order."""

    @abstractmethod
    def look(self, table: Table) -> TableLook:
        """What a task does with the rows of a split that it opens itself."""

    @abstractmethod
    def sql_faults(self, table: Table, readable: Sequence[str]) -> Sequence[SqlFault]:
        """The same where only Spark reads the table; in `readable` are the columns it can read."""

    def shown(self, table: Table) -> tuple[Column, ...]:  # noqa: ARG002
        """The columns whose values a defect shows beside the primary key."""
        return ()

    def dressed(self, defect: Defect, shown: Mapping[str, Value]) -> Defect:  # noqa: ARG002
        """A defect with what only this check knows; `shown` are the values of those columns."""
        return defect

    def needs_spark(self, facts: RelationFacts) -> str | None:
        """Why tasks that open splits themselves cannot do it for a relation, if that is so."""
        if all(split.kind is SplitKind.PARQUET for split in facts.splits):
            return None
        return f"the {self.name} check looks into Parquet files only"

    def notes(self, plan: TablePlan) -> tuple[str, ...]:  # noqa: ARG002
        """What a reader should know of its coverage, beyond what the plan of the table says."""
        return ()
