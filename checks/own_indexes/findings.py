# SPDX-License-Identifier: Apache-2.0
"""What was found in one of the database's own indexes, how much was looked at, and what to do."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from checks.findings import SlotFindings
from checks.outcomes import outcome
from checks.registry import INDEX
from scrub.model.defect import Defect, DefectKind
from scrub.model.request import Engine
from scrub.model.result import CheckOutcome
from scrub.model.table import Index
from scrub.stores.postgres.own_indexes.collations import OutgrownCollation
from scrub.stores.postgres.own_indexes.description import IndexColumn, OwnIndex
from scrub.stores.postgres.own_indexes.stability import Instability
from scrub.stores.postgres.reindexing import reindex_statement

LEAVES_ONLY = "only the leaves were walked through: pages above them are not seen (pg_amcheck does)"


@dataclass(slots=True)
class OwnIndexFindings(SlotFindings):
    """One index: what was counted and named, and why not everything was."""

    snapshot: str = ""
    defects: list[Defect] = field(default_factory=list)

    def outcome(self, index: Index) -> CheckOutcome:
        """How the check of the index ended."""
        found = self
        if self.entries is not None:
            found = replace(self, notes=[*self.notes, LEAVES_ONLY])
        return outcome(
            INDEX.name, index.name, found, snapshot=self.snapshot, engine=Engine.NATIVE.value
        )

    def lacks(self, reason: str) -> None:
        """Something was not looked at; the first reason is the one that is reported."""
        if self.incomplete is None:
            self.incomplete = reason
        elif reason != self.incomplete:
            self.note(reason)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def find_unusable(self, native: OwnIndex) -> bool:
        """Whether nobody uses the index as it is; collations that have changed are only noted."""
        for collation in native.outgrown:
            self.note(f"{collation.told}, so that entries may be out of order")
            self.advise(_after_collation(native, collation))
        if native.is_valid and native.is_ready:
            return False
        state = "valid" if not native.is_valid else "ready for writes"
        self.lacks(f"{native.name} is not {state}, so queries do not use it")
        self.advise(_of_unusable(native))
        return True

    def find_hidden(self, native: OwnIndex) -> bool:
        """Whether the index needs columns that the role may not read."""
        if native.hidden:
            self.lacks(
                f"no permission to read {', '.join(native.hidden)} of {native.table_schema}."
                f"{native.table_name}, which {native.name} needs; {native.grant}"
            )
        return bool(native.hidden)

    def find_unstable(self, native: OwnIndex, found: Sequence[Instability]) -> bool:
        """Whether not even the rows are certain that belong in the index."""
        for one in found:
            what, subject = "a condition", "its condition"
            if one.number is not None:
                what, subject = "an expression", native.columns[one.number].expression
            self.lacks(
                f"{native.name} has {what} that is not immutable in fact: {subject} {one.reason}, "
                "so what it gives was not compared"
            )
        return any(one.number is None for one in found)

    def find_unheld(
        self, native: OwnIndex, unheld: Sequence[IndexColumn], unreadable: str | None
    ) -> None:
        """Expressions are compared by searches; what is stored beside them cannot be, then."""
        how = "seen through the rows that entries lead to"
        if native.is_readable:
            how = "compared by searching for each row"
        if unreadable and native.has_expressions:
            self.note(
                f"{native.name} has expressions, so its entries cannot be read themselves: their "
                f"keys are {how}, and those that point to no row are not seen"
            )
        elif unheld:
            names = ", ".join(column.name for column in unheld)
            self.note(
                f"{native.name} has expressions whose values cannot be read from it ({names}): "
                f"they are {how}"
            )
        stored = [column.name for column in unheld if not column.is_key]
        if stored:
            self.lacks(
                f"what {native.name} stores in {', '.join(stored)} could not be compared: "
                f"{unreadable}"
            )

    def advise(self, remedy: str) -> None:
        if remedy not in self.remedies:
            self.remedies.append(remedy)


def remedy_of(native: OwnIndex, kinds: Collection[DefectKind]) -> str:
    """Building anew mends every kind but one: a unique index of rows that clash cannot be built."""
    if DefectKind.UNIQUE_VIOLATION not in kinds:
        return _reindex(native)
    first = f"change or merge the rows that share a key of {native.sql}"
    return first if set(kinds) == {DefectKind.UNIQUE_VIOLATION} else f"{first}; {_reindex(native)}"


def _of_unusable(native: OwnIndex) -> str:
    """An index that is not valid or not ready is mostly left over from a build that failed."""
    if native.is_partitioned:
        return (
            "create the index on the partitions that lack it, then "
            f"ALTER INDEX {native.sql} ATTACH PARTITION each of them;"
        )
    return f"{_reindex(native)} or, if nobody needs it, DROP INDEX CONCURRENTLY {native.sql};"


def _after_collation(native: OwnIndex, collation: OutgrownCollation) -> str:
    """The version is refreshed last: it says that every index with the collation is built anew."""
    return f"{_reindex(native)} after all indexes with this collation, {collation.refresh};"


def _reindex(native: OwnIndex) -> str:
    return f"{reindex_statement(native.sql)};"
