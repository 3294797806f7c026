# SPDX-License-Identifier: Apache-2.0
"""What was found in one of the database's own indexes, and how much of it was looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checks import native_remedies
from scrub.model.defect import Defect, DefectKind
from scrub.model.result import CheckOutcome, Status
from scrub.model.table import Index
from scrub.stores.postgres.index_description import IndexColumn, NativeIndex
from scrub.stores.postgres.index_stability import Instability

LEAVES_ONLY = "only the leaves were walked through: pages above them are not seen (pg_amcheck does)"


@dataclass(slots=True)
class NativeFindings:
    """One index: what was counted and named, and why not everything was."""

    snapshot: str = ""
    rows: int | None = None
    entries: int | None = None
    counts: dict[DefectKind, int] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    incomplete: str | None = None
    not_applicable: str | None = None
    remedies: list[str] = field(default_factory=list)

    @property
    def status(self) -> Status:
        if self.not_applicable:
            return Status.NOT_APPLICABLE
        if any(self.counts.values()):
            return Status.DEFECTIVE
        return Status.INCOMPLETE if self.incomplete else Status.CLEAN

    def outcome(self, index: Index) -> CheckOutcome:
        return CheckOutcome(
            check="index",
            index=index.name,
            status=self.status,
            reason=self.not_applicable or self.incomplete,
            rows=self.rows,
            entries=self.entries,
            counts={kind: self.counts[kind] for kind in DefectKind if self.counts.get(kind)},
            snapshot=self.snapshot,
            engine="native",
            notes=(*self.notes, *((LEAVES_ONLY,) if self.entries is not None else ())),
            remedies=tuple(self.remedies),
        )

    def lacks(self, reason: str) -> None:
        """Something was not looked at; the first reason is the one that is told."""
        if self.incomplete is None:
            self.incomplete = reason
        elif reason != self.incomplete:
            self.note(reason)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def find_unusable(self, native: NativeIndex) -> bool:
        """Whether nobody uses the index as it is; collations that have changed are only noted."""
        for collation in native.outgrown:
            self.note(f"{collation.told}, so that entries may be out of order")
            self.advise(native_remedies.after_collation(native, collation))
        if native.is_valid and native.is_ready:
            return False
        state = "valid" if not native.is_valid else "ready for writes"
        self.lacks(f"{native.name} is not {state}, so queries do not use it")
        self.advise(native_remedies.of_unusable(native))
        return True

    def find_hidden(self, native: NativeIndex) -> bool:
        """Whether the index needs columns that the role may not read."""
        if native.hidden:
            self.lacks(
                f"no permission to read {', '.join(native.hidden)} of {native.table_schema}."
                f"{native.table_name}, which {native.name} needs; {native.grant}"
            )
        return bool(native.hidden)

    def find_unstable(self, native: NativeIndex, found: Sequence[Instability]) -> bool:
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
        self, native: NativeIndex, unheld: Sequence[IndexColumn], unreadable: str | None
    ) -> None:
        """Expressions are compared by searches; what is stored beside them cannot be, then."""
        how = "seen through the rows that entries lead to"
        if native.is_readable:
            how = "compared by searching for each row"
        if unreadable and native.has_expressions:
            self.note(
                f"{native.name} has expressions, so its entries cannot be read themselves: their "
                f"keys are {how}, and those that lead nowhere are not seen"
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
