# SPDX-License-Identifier: Apache-2.0
"""NOT NULL and CHECK where Spark reads the rows: one pass for all constraints of a table.

If an expression raises, or a value of a column cannot be read, the constraints are looked at one by
one, so that it costs no other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from checks.columns.diagnosis import raising_row
from checks.columns.fault_naming import in_order, to_defect
from checks.columns.sql_looks import SqlLook
from checks.constraints.endless_times import computed_times, endless_rows, is_endless
from checks.constraints.plan import judged_columns
from checks.constraints.rows import RowConstraint
from checks.constraints.spark_rows import RowFrames
from checks.constraints.violations import Violations
from checks.failures import Failure, failures, is_of_spark, reason_for, session_has_ended
from checks.numbering import Relation
from checks.source import Reading
from checks.specs import columns_of_where, is_looked_at
from scrub.codec.digest import Salt
from scrub.errors import StoreUnavailable
from scrub.model.constraint import Constraint
from scrub.model.defect import Defect, DefectKind
from scrub.spark.lazily import F
from scrub.stores.constraints import ConstraintStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RowsBySql:
    """Some constraints of one table that rows keep or violate by themselves."""

    reading: Reading
    relation: Relation
    rows: RowFrames
    salt: Salt

    def look(self, constraints: Sequence[Constraint]) -> list[Violations]:
        """Count the violations of all constraints."""
        try:
            found = self._count(constraints)
            if len(constraints) > 1 and self.rows.not_read_by_column:
                return self._one_by_one(constraints)
            return found
        except failures() as error:
            if len(constraints) > 1 and not session_has_ended(error):
                return self._one_by_one(constraints)
            lost = [Violations(one) for one in constraints]
            for violations in lost:
                violations.give_up(self._reason(violations.constraint, error))
            return lost

    def _one_by_one(self, constraints: Sequence[Constraint]) -> list[Violations]:
        return [found for one in constraints for found in self.look([one])]

    def _count(self, constraints: Sequence[Constraint]) -> list[Violations]:
        checks = [self._check(one) for one in constraints]
        look = self._look(checks)
        (counted,) = self._over(look, lambda rows: self.reading.jobs.rows(look.counted(rows)))
        faults = look.as_faults(counted)
        found = []
        for check in checks:
            violations = Violations(check.constraint)
            violations.found.rows = faults.rows
            violations.count(sum(n for of, n in faults.counts.items() if _is_of(of, check)))
            if lost := self.rows.not_read:
                violations.give_up(lost)
            if check.undecided and (rows := self._endless_rows(check, look)):
                violations.give_up(endless_rows(rows, check.undecided))
            violations.name = _naming(self, check)
            found.append(violations)
        return found

    def _check(self, constraint: Constraint) -> RowConstraint:
        table = self.relation.table.table
        store = self.reading.stores[self.relation.side.facts.store]
        if not isinstance(store, ConstraintStore):  # only databases have infinite times
            return RowConstraint(table, constraint)
        names = judged_columns(table, constraint)
        return RowConstraint(table, constraint, undecided=computed_times(table, constraint, names))

    def _endless_rows(self, check: RowConstraint, look: SqlLook) -> int:
        looked_at = is_looked_at(self.relation.table.where)
        counted = F.count_if(is_endless(check.undecided))
        (row,) = self._over(
            look, lambda rows: self.reading.jobs.rows(rows.where(looked_at).agg(counted))
        )
        return int(row[0])

    def named(self, check: RowConstraint, limit: int | None) -> Iterator[Defect]:
        """The violations of one constraint."""
        look, jobs, not_counted = self._look([check]), self.reading.jobs, self.rows.not_read
        if limit is not None:
            job: Callable[[DataFrame], list[Row]] = lambda rows: jobs.rows(  # noqa: E731
                in_order(look.named(rows), limit)
            )
            found: Iterator[Row] | list[Row] = self.rows.over(look.columns_to_name, job)
        else:
            found = self.rows.over(
                look.columns_to_name, lambda rows: jobs.each(in_order(look.named(rows), None))
            )
        for row in found:
            yield to_defect(row.asDict(), check, self.relation, None)
        if (lost := self.rows.not_read) != not_counted:
            raise StoreUnavailable(lost or "")  # what was counted there is not named

    def _look(self, checks: Sequence[RowConstraint]) -> SqlLook:
        """All conditions at once, over the columns that they speak of."""
        table = self.relation.table.table
        needed = {*table.primary_key, *(name for check in checks for name in check.columns(table))}
        needed |= {column.name for column in columns_of_where(self.relation.table)}
        columns = tuple(column for column in table.columns if column.name in needed)
        names = [column.name for column in columns]
        faults = [fault for check in checks for fault in check.sql_faults(table, names)]
        return SqlLook(self.relation, columns, {}, faults)

    def _over(self, look: SqlLook, job: Callable[["DataFrame"], Answer]) -> Answer:
        return self.rows.over(look.columns, job)

    def _reason(self, constraint: Constraint, error: Failure) -> str:
        """Why a constraint could not be checked: the row to blame, if an expression raises."""
        redact = self.reading.settings.redact
        if not is_of_spark(error) or session_has_ended(error):
            return reason_for(error, redact)
        table = self.relation.table.table
        look = self._look([self._check(constraint)])
        values = [fault.condition for fault in look.faults]
        looked_at, collect = is_looked_at(self.relation.table.where), self.reading.jobs.rows
        try:
            raised = self._over(
                look,
                lambda rows: raising_row(rows.where(looked_at), table, values, self.salt, collect),
            )
        except failures() as another:
            return reason_for(another, redact)
        return f"its expression {raised.told}" if raised else reason_for(error, redact)


def _naming(by_sql: RowsBySql, check: RowConstraint) -> Callable[[int | None], Iterator[Defect]]:
    return lambda limit: by_sql.named(check, limit)


def _is_of(of: tuple[str, DefectKind], check: RowConstraint) -> bool:
    """Whether a fault counts for a constraint: NULLs by column, the others by name."""
    subject, kind = of
    is_null = kind is DefectKind.NULL_VIOLATION
    return is_null == (check.constraint.condition is None) and (
        is_null or subject == check.constraint.name
    )
