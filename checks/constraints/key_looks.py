# SPDX-License-Identifier: Apache-2.0
"""Keys that rows must not share, and keys that must exist elsewhere, as violations.

`checks.keys` finds them. Where tasks open the files of both sides, digests are brought together;
everything else is compared by Spark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checks.constraints.spark_rows import RowFrames
from checks.constraints.violations import KeyDefects, Violations
from checks.failures import failures, reason_for
from checks.keys.findings import KeyFindings, UnreadSplit
from checks.keys.repeated_keys import RepeatableKey, find_repeated, find_repeated_by_sql
from checks.keys.split_rows import Key, SplitRows
from checks.keys.unmatched_keys import Reference, find_unmatched, find_unmatched_by_sql
from checks.numbering import Relation
from checks.pairs.row_columns import as_decoded
from checks.source import Reading
from checks.specs import columns_of_where, rows_looked_at
from checks.table_look import EVERY_ROW, RowChoice
from checks.unread import parts_not_read
from scrub.codec.digest import Salt
from scrub.model.constraint import Constraint, ConstraintKind
from scrub.model.defect import Defect
from scrub.model.plan import ConstraintPlan, Parent
from scrub.model.relation import RelationFacts
from scrub.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def key_of(table: Table, constraint: Constraint) -> Key:
    """The columns of a constraint's key, in its order."""
    return tuple(map(table.column, constraint.columns))


def parent_key(parent: Parent) -> Key:
    """The key that foreign keys refer to."""
    table = as_decoded(parent.table)
    return tuple(map(table.column, table.primary_key))


def splits_of(facts: RelationFacts, looked_at: RowChoice = EVERY_ROW) -> SplitRows:
    """The rows of a pinned relation, as tasks open them."""
    return SplitRows(
        splits=facts.splits, looked_at=looked_at, storage_options=facts.storage_options
    )


@dataclass(frozen=True, slots=True)
class KeyLooks:
    """The constraints of one table that it takes other rows to judge."""

    reading: Reading
    relation: Relation
    salt: Salt

    @property
    def table(self) -> Table:
        return self.relation.table.table

    @property
    def primary_key(self) -> Key:
        return tuple(map(self.table.column, self.table.primary_key))

    # Keys that no two rows may have

    def repeated(self, constraints: Sequence[Constraint]) -> list[Violations]:
        """Look for all of them in one pass over the digests of the keys."""
        rows = splits_of(self.relation.side.facts, rows_looked_at(self.relation.table))
        reading = self.reading
        return self._repeated(
            constraints,
            lambda keys: find_repeated(reading.jobs, rows, keys, self.primary_key, self.salt),
        )

    def repeated_by_sql(
        self, constraints: Sequence[Constraint], rows: RowFrames
    ) -> list[Violations]:
        """The same where Spark reads."""
        where, jobs = self.relation.table.where, self.reading.jobs
        columns = self._columns(*(key_of(self.table, one) for one in constraints))
        found = self._repeated(
            constraints,
            lambda keys: rows.over(
                columns,
                lambda frame: find_repeated_by_sql(jobs, frame, keys, self.primary_key, where),
            ),
        )
        if len(constraints) > 1 and rows.not_read_by_column:
            return [of for one in constraints for of in self.repeated_by_sql([one], rows)]
        return [_noting(violations, rows) for violations in found]

    def _repeated(
        self,
        constraints: Sequence[Constraint],
        find: Callable[[Sequence[RepeatableKey]], list[KeyFindings]],
    ) -> list[Violations]:
        keys = [
            RepeatableKey(
                columns=key_of(self.table, one),
                is_primary=one.kind is ConstraintKind.PRIMARY_KEY,
            )
            for one in constraints
        ]
        try:
            found = find(keys)
        except failures() as error:
            return [self._lost(one, error) for one in constraints]
        return [self._violations(*of) for of in zip(constraints, found, strict=True)]

    # Keys that another row must have

    def unmatched(self, one: ConstraintPlan) -> Violations:
        """Look for rows without a parent by bringing the digests of both sides together."""
        assert one.parent is not None
        reading = self.reading
        child = splits_of(self.relation.side.facts, rows_looked_at(self.relation.table))
        parent = splits_of(one.parent.facts)
        try:
            found = find_unmatched(
                reading.jobs,
                child,
                parent,
                self._reference(one),
                self.primary_key,
                self.salt,
            )
        except failures() as error:
            return self._lost(one.constraint, error)
        violations = self._violations(one.constraint, found)
        if found.undecided:
            _leave_undecided(violations, found.undecided, _unread(one.parent, found.unread_parents))
        return violations

    def unmatched_by_sql(
        self, one: ConstraintPlan, rows: RowFrames, parents: RowFrames
    ) -> Violations:
        """The same where Spark reads one of the sides."""
        assert one.parent is not None
        reference = self._reference(one)
        columns = self._columns(reference.columns)

        def find(child: "DataFrame", parent: "DataFrame") -> KeyFindings:
            return find_unmatched_by_sql(
                self.reading.jobs,
                child,
                parent,
                reference,
                self.primary_key,
                where=self.relation.table.where,
                parents_whole=parents.not_read is None,
            )

        try:
            found = rows.over(
                columns,
                lambda child: parents.over(reference.referred, lambda parent: find(child, parent)),
            )
        except failures() as error:
            return self._lost(one.constraint, error)
        violations = _noting(self._violations(one.constraint, found), rows)
        if found.undecided:
            _leave_undecided(violations, found.undecided, parents.not_read or "")
        return violations

    def _reference(self, one: ConstraintPlan) -> Reference:
        assert one.parent is not None
        return Reference(
            columns=key_of(self.table, one.constraint), referred=parent_key(one.parent)
        )

    # What was found

    def _columns(self, *keys: Key) -> Key:
        """The columns of some keys, of the primary key and of `--where`, each once."""
        of_where = columns_of_where(self.relation.table)
        every = (self.primary_key, *keys, of_where)
        named = {column.name: column for key in every for column in key}
        return tuple(named.values())

    def _violations(self, constraint: Constraint, found: KeyFindings) -> Violations:
        violations = Violations(constraint)
        violations.found.rows = found.rows
        violations.count(found.violations)
        if found.unread:
            violations.give_up(_unread_splits(self.relation.side.facts, found.unread))
        words = KeyDefects(self.relation, constraint)

        def name(limit: int | None) -> Iterator[Defect]:
            try:
                for row in found.named(self.reading.jobs, limit):
                    yield words.defect(row["primary_key"], row["key"], row["copies"])
            finally:
                found.release()

        violations.name = name
        return violations

    def _lost(self, constraint: Constraint, error: Exception) -> Violations:
        violations = Violations(constraint)
        violations.give_up(reason_for(error, self.reading.settings.redact))  # type: ignore[arg-type]
        return violations


def _noting(violations: Violations, rows: RowFrames) -> Violations:
    """The violations of some rows, with a word on those that were left out."""
    if lost := rows.not_read:
        violations.give_up(lost)
    return violations


def _leave_undecided(violations: Violations, number: int, unread: str) -> None:
    violations.found.undecided += number
    refer = "row refers" if number == 1 else "rows refer"
    violations.give_up(f"{number} {refer} to keys that may be in what was not read: {unread}")


def _unread(parent: Parent, splits: Sequence[UnreadSplit]) -> str:
    return _unread_splits(parent.facts, splits)


def _unread_splits(facts: RelationFacts, splits: Sequence[UnreadSplit]) -> str:
    told = [f"{facts.splits[one.number].uri}: {one.reason}" for one in splits]
    return parts_not_read(facts, told)
