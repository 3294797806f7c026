# SPDX-License-Identifier: Apache-2.0
"""Constraints that the database looks at itself, because it holds everything that they speak of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from checks.column_faults import null_fault
from checks.columns.fault_naming import row_digest
from checks.constraints.plan import judged_columns
from checks.constraints.rows import dressed, is_false
from checks.constraints.violations import KeyDefects, Violations, bare_violation
from checks.fault_rows import row_columns
from checks.numbering import Relation
from scrub.catalog.native_terms import native_condition
from scrub.codec.arrow_text import text_of
from scrub.codec.json_values import from_text
from scrub.errors import StoreUnavailable
from scrub.model.constraint import Constraint, ConstraintKind
from scrub.model.defect import Defect, Value
from scrub.model.plan import ConstraintPlan
from scrub.model.predicate import And, ColumnTerm, IsNull, Node, Not, Or
from scrub.model.table import Column
from scrub.model.types import widens
from scrub.stores.constraints import ConstrainedRows, ConstraintReader, Reference, RowRules

Batches = Iterator[pa.RecordBatch]
Name = Callable[[int | None], Iterator[Defect]]


@dataclass(frozen=True, slots=True)
class InStore:
    """The constraints of one table, and the database that holds it."""

    reader: ConstraintReader
    relation: Relation

    def look(self, plans: Sequence[ConstraintPlan]) -> Iterator[Violations]:
        """Count the violations of each; one that fails costs no other."""
        for one in plans:
            violations = Violations(one.constraint)
            try:
                self._count(one, violations)
            except StoreUnavailable as error:
                violations.give_up(error.in_one_line)
            yield violations

    def _count(self, one: ConstraintPlan, violations: Violations) -> None:
        match one.constraint.kind:
            case ConstraintKind.NOT_NULL | ConstraintKind.CHECK:
                rules = self._rules(one.constraint)
                broken = self.reader.count_broken(self._rows, rules)
                violations.found.rows = broken.rows
                violations.count(sum((*broken.nulls, *broken.checks)))
                violations.name = self._naming_rows(one.constraint, rules)
            case ConstraintKind.PRIMARY_KEY:
                violations.count(self.reader.count_copied(self._rows).keys)
                violations.name = self._naming_keys(
                    one.constraint, lambda n: self.reader.primary_keys_copied(self._rows, n)
                )
            case ConstraintKind.UNIQUE:
                key = self._terms(self._key(one.constraint))
                violations.count(self.reader.count_shared(self._rows, key).rows)
                violations.name = self._naming_keys(
                    one.constraint, lambda n: self.reader.rows_that_share(self._rows, key, n)
                )
            case ConstraintKind.FOREIGN_KEY:
                reference = self._reference(one)
                violations.count(self.reader.count_without_parent(reference))
                violations.name = self._naming_keys(
                    one.constraint, lambda n: self.reader.rows_without_parent(reference, n)
                )

    # What the database is asked

    @property
    def _rows(self) -> ConstrainedRows:
        plan = self.relation.table
        where: Node | None = native_condition(plan.where, plan.table) if plan.where else None
        return ConstrainedRows(plan.side.facts, self._terms(self._primary_key), where)

    @property
    def _primary_key(self) -> tuple[Column, ...]:
        table = self.relation.table.table
        return tuple(map(table.column, table.primary_key))

    def _key(self, constraint: Constraint) -> tuple[Column, ...]:
        return tuple(map(self.relation.table.table.column, constraint.columns))

    def _rules(self, constraint: Constraint) -> RowRules:
        if constraint.condition is None:
            return RowRules(never_null=self._terms(self._key(constraint)))
        node = native_condition(constraint.condition, self.relation.table.table)
        assert node is not None, "the plan gave a database what only Spark evaluates"
        return RowRules(checks=(node,))

    def _reference(self, one: ConstraintPlan) -> Reference:
        assert one.parent is not None
        parent = one.parent.table
        return Reference(
            self._rows,
            self._terms(self._key(one.constraint)),
            one.parent.facts,
            self._terms(tuple(map(parent.column, parent.primary_key))),
        )

    def _terms(self, columns: Sequence[Column]) -> tuple[ColumnTerm, ...]:
        return tuple(ColumnTerm(column.name, column.type) for column in columns)

    # What it answers

    def _naming_rows(self, constraint: Constraint, rules: RowRules) -> Name:
        table = self.relation.table.table
        shown = () if constraint.condition is None else judged_columns(table, constraint)
        beside = tuple(map(table.column, shown))

        def found(keyless: bool, limit: int | None) -> Iterator[Defect]:
            rows = replace(self._rows, where=self._where(keyless))
            read = (*beside, *self._row) if keyless else beside
            batches = self.reader.rows_that_break(rows, rules, self._terms(read), limit)
            return self._faults(constraint, rules, beside, batches)

        def name(limit: int | None) -> Iterator[Defect]:
            yield from islice(
                (d for keyless in (True, False) for d in found(keyless, limit)), limit
            )

        return name

    def _where(self, keyless: bool) -> Node:
        """The rows that are looked at: those whose key has a NULL, or the others."""
        has_null = Or(tuple(map(IsNull, self._rows.primary_key)))
        of_key = has_null if keyless else Not(has_null)
        return of_key if self._rows.where is None else And((self._rows.where, of_key))

    @property
    def _row(self) -> tuple[Column, ...]:
        """What the server holds of the columns that identify a row whose key does not."""
        held = self.relation.side.facts.columns
        return tuple(
            column
            for column in row_columns(self.relation.table.table)
            if (stored := held.get(column.name)) is not None and widens(stored, column.type)
        )

    def _faults(
        self, constraint: Constraint, rules: RowRules, beside: Sequence[Column], batches: Batches
    ) -> Iterator[Defect]:
        for batch in batches:
            for row in range(batch.num_rows):
                key = _values("p", self._primary_key, batch, row)
                digest = self._digest(len(beside), batch, row) if None in key.values() else None
                if constraint.condition is not None:
                    bare = bare_violation(self.relation, constraint, key, is_false(constraint))
                    shown = _values("c", beside, batch, row)
                    yield replace(dressed(bare, constraint, shown), row_digest=digest)
                    continue
                for number, column in enumerate(rules.never_null):
                    if batch.column(f"n{number}")[row].as_py():
                        detail = null_fault(column.name)
                        bare = bare_violation(self.relation, constraint, key, detail, column.name)
                        yield replace(dressed(bare, constraint, {}), row_digest=digest)

    def _digest(self, after: int, batch: pa.RecordBatch, row: int) -> str | None:
        """What identifies a row whose key does not; its columns come after so many others."""
        texts = {
            column.name: text_of(batch.column(f"c{after + number}")[row], column.type)
            for number, column in enumerate(self._row)
        }
        table = self.relation.table.table
        return row_digest([texts.get(column.name) for column in row_columns(table)], table)

    def _naming_keys(self, constraint: Constraint, read: Callable[[int | None], Batches]) -> Name:
        words = KeyDefects(self.relation, constraint)

        def name(limit: int | None) -> Iterator[Defect]:
            for batch in read(limit):
                copies = batch.column("copies") if "copies" in batch.schema.names else None
                for row in range(batch.num_rows):
                    key = _texts("p", self._primary_key, batch, row)
                    of = key
                    if constraint.kind is not ConstraintKind.PRIMARY_KEY:
                        of = _texts("k", self._key(constraint), batch, row)
                    yield words.defect(key, of, 1 if copies is None else copies[row].as_py())

        return name


def _texts(
    prefix: str, columns: Sequence[Column], batch: pa.RecordBatch, row: int
) -> list[str | None]:
    return [text_of(batch.column(f"{prefix}{n}")[row], c.type) for n, c in enumerate(columns)]


def _values(
    prefix: str, columns: Sequence[Column], batch: pa.RecordBatch, row: int
) -> dict[str, Value]:
    texts = _texts(prefix, columns, batch, row)
    return {c.name: from_text(text, c.type) for c, text in zip(columns, texts, strict=True)}
