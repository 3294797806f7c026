# SPDX-License-Identifier: Apache-2.0
"""A check of whole tables of columns in a run: what was counted, and which of it is named.

Counts come from the scan that serves the indexes, or, where Spark reads, from a job of their own.
Naming reads again what has faults, and only as much of it as is to be shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame

from checks.check import TableCheck
from checks.columns.fault_naming import (
    faults_of_splits,
    held_in_order,
    in_order,
    misfit_defects,
    to_defect,
    worth_naming,
)
from checks.columns.sql_looks import SqlLook
from checks.failures import FAILURES, Failure, part_not_read, reason_for
from checks.findings import SlotFindings
from checks.numbering import Relation
from checks.part_faults import PartFaults
from checks.parts import Part
from checks.read_by_spark import frame_read
from checks.riding import Reports
from checks.source import Reading
from checks.unread import Unread
from scrub.model.defect import Defect
from scrub.model.table import Column
from scrub.spark.collecting import translated


@dataclass(slots=True)
class TableCheckRun:
    """One check, and the tables of a run that it looks at; see `checks.riding`."""

    check: TableCheck
    reading: Reading
    relations: tuple[Relation, ...]
    parts: tuple[Part, ...]  # of all relations
    unread: Unread = field(default_factory=Unread)  # for this check; indexes have their own
    by_sql: dict[int, PartFaults] = field(default_factory=dict)  # by relation
    found: dict[str, SlotFindings] = field(default_factory=dict)  # by table

    def wants(self, part: Part) -> bool:
        """Whether a native scan of the part serves this check."""
        number = part.relation.number
        mine = any(relation.number == number for relation in self.relations)
        return mine and part.relation.is_native and number not in self.unread.relations

    def give_up(self, parts: Sequence[Part], error: Failure) -> None:
        """The scan of these parts failed, and nobody knows which of them is to blame."""
        for part in parts:
            if self.wants(part):
                self.unread.relations[part.relation.number] = self._reason(error)

    @property
    def gave_up(self) -> bool:
        return bool(self.unread.relations)

    def kept(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """All of it: names and numbers, never a value."""
        return report

    # Counting

    def look_by_sql(self) -> None:
        """Count in the tables that Spark reads."""
        for relation in self.relations:
            if not relation.is_native:
                self._look_by_sql(relation)

    def _look_by_sql(self, relation: Relation) -> None:
        look = SqlLook.of(self.check, relation)
        self.by_sql[relation.number] = PartFaults(misfits=tuple(look.misfits))
        while parts := self.unread.readable(self._parts_of(relation)):
            try:
                with translated():
                    rows = self._frame(look, look.columns, parts)
                (counted,) = self.reading.jobs.rows(look.counted(rows))
            except FAILURES as error:
                if self.unread.set_aside(part_not_read(error, parts)):
                    continue
                self.unread.relations[relation.number] = self._reason(error)
            else:
                self.by_sql[relation.number] = look.as_faults(counted)
            return

    def _reason(self, error: Failure) -> str:
        return reason_for(error, self.reading.settings.redact)

    def _frame(self, look: SqlLook, columns: Sequence[Column], parts: Sequence[Part]) -> DataFrame:
        facts, reading = look.relation.side.facts, self.reading
        splits = [split for part in parts for split in part.splits]
        return frame_read(reading.stores[facts.store], reading.spark, facts, columns, splits)

    def _parts_of(self, relation: Relation) -> list[Part]:
        return [part for part in self.parts if part.relation.number == relation.number]

    # The end

    def conclude(self, reports: Reports) -> None:
        """Add up what was counted; `reports` is what native scans reported, by part."""
        for relation in self.relations:
            faults = self._faults_of(relation, reports)
            for part, of_part in faults:
                if of_part.error is not None:
                    self.unread.parts[part.number] = (part, of_part.error)
            found = SlotFindings(rows=sum(of_part.rows for _, of_part in faults))
            for _, of_part in worth_naming(faults):
                for kind, number in of_part.by_kind().items():
                    found.counts[kind] = found.counts.get(kind, 0) + number
            found.incomplete = "; ".join(self.unread.of_relation(relation)) or None
            self.found[relation.table.table.name] = found

    def _faults_of(self, relation: Relation, reports: Reports) -> list[tuple[Part, PartFaults]]:
        parts = self._parts_of(relation)
        if not relation.is_native:
            return [(part, self.by_sql[relation.number]) for part in parts[:1]]
        read = [part for part in parts if part.number in reports]
        faults = [PartFaults.of_report(reports[part.number]) for part in read]
        if not self.check.judges_types:
            faults = [replace(of_part, misfits=()) for of_part in faults]
        return list(zip(read, faults, strict=True))

    def defects(self, reports: Reports, limit: int | None) -> Iterator[Defect]:
        """The defects table by table, in order; at most so many, or all of them."""
        left = limit
        for relation in self.relations:
            faulty = worth_naming(self._faults_of(relation, reports))
            if not faulty or left == 0:
                continue
            named = 0
            try:
                for defect in islice(self._name(relation, faulty, left), left):
                    yield defect
                    named += 1
            except FAILURES as error:
                self._note(relation, f"not every defect could be named: {self._reason(error)}")
            left = None if left is None else left - named

    def _name(
        self, relation: Relation, faulty: Sequence[tuple[Part, PartFaults]], limit: int | None
    ) -> Iterator[Defect]:
        if relation.is_native:
            jobs = self.reading.jobs
            work = faults_of_splits(jobs.cores, self.check, relation, faulty, limit)
            held = jobs.held(work)
            if held is not None:
                yield from self._as_defects(held_in_order(held, limit), relation)
                return
            frame = jobs.frame(work)
        else:
            look = SqlLook.of(self.check, relation)
            yield from misfit_defects(self.check, relation, look.misfits)
            if not faulty[0][1].counts:
                return
            with translated():
                parts = self.unread.readable(self._parts_of(relation))
                rows = self._frame(look, look.columns_to_name, parts)
            frame = look.named(rows)
        ordered, jobs = in_order(frame, limit), self.reading.jobs
        found = jobs.each(ordered) if limit is None else jobs.rows(ordered)
        yield from self._as_defects((row.asDict() for row in found), relation)

    def _as_defects(
        self, rows: Iterable[Mapping[str, Any]], relation: Relation
    ) -> Iterator[Defect]:
        of_number = {part.number: part for part in self._parts_of(relation)}
        for row in rows:
            if row["kind"] is None:
                self._note(relation, f"its defects were not named: {row['detail']}")
            else:
                yield to_defect(row, self.check, relation, of_number.get(row["part"]))

    def _note(self, relation: Relation, text: str) -> None:
        notes = self.found[relation.table.table.name].notes
        if text not in notes:
            notes.append(text)
