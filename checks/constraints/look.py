# SPDX-License-Identifier: Apache-2.0
"""The stage that looks at constraints which the scan of the table does not serve."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from checks.constraints.in_store import InStore
from checks.constraints.key_looks import KeyLooks
from checks.constraints.rows_by_sql import RowsBySql
from checks.constraints.spark_rows import RowFrames, SparkRows
from checks.constraints.violations import Violations
from checks.failures import failures, reason_for
from checks.numbering import Relation
from checks.pairs.row_columns import as_decoded
from checks.pairs.row_values import RowValues
from checks.run_state import Run
from scrub.errors import StoreUnavailable
from scrub.model.constraint import ConstraintKind
from scrub.model.plan import ConstraintPlan, Parent, TablePlan, Way
from scrub.stores.constraints import ConstraintStore

_OF_ROWS = (ConstraintKind.NOT_NULL, ConstraintKind.CHECK)


def look_at_constraints(run: Run) -> None:
    """Count the violations of every constraint, and name those to be shown."""
    tables = (relation for relation in run.source.relations if relation.is_table)
    for relation in tables:
        apart = [one for one in relation.table.constraints if one.way is not Way.SCAN]
        if not apart:
            continue
        name = relation.table.table.name
        run.report(f"looking at constraints of {name}")
        values = RowValues(relation.table.table)
        for violations in TableConstraints(run, _decoded(relation)).look(apart):
            run.constraints[name, violations.constraint.name] = violations.found
            _show(run, violations, values)


def _decoded(relation: Relation) -> Relation:
    """A relation of pairs with the columns that its decoded rows have."""
    plan = relation.table
    return replace(relation, table=replace(plan, table=as_decoded(plan.table)))


def _show(run: Run, violations: Violations, values: RowValues) -> None:
    if not violations.found.counts:
        return
    try:
        run.shown.add(map(values.in_words, violations.name(run.shown.wanted)))
    except failures() as error:
        reason = _reason(run, error)
        violations.found.notes.append(f"not every violation could be named: {reason}")


def _reason(run: Run, error: Exception) -> str:
    if isinstance(error, StoreUnavailable):
        return error.in_one_line
    assert isinstance(error, failures())
    return reason_for(error, run.settings.redact)


@dataclass(frozen=True, slots=True)
class TableConstraints:
    """The constraints of one table, each looked at in the way that the plan says."""

    run: Run
    relation: Relation

    def look(self, plans: Sequence[ConstraintPlan]) -> Iterator[Violations]:
        yield from self._in_store([one for one in plans if one.way is Way.STORE])
        yield from self._by_keys([one for one in plans if one.way is Way.KEYS])
        yield from self._by_sql([one for one in plans if one.way is Way.SQL])

    def _in_store(self, plans: Sequence[ConstraintPlan]) -> Iterator[Violations]:
        if plans:
            store = self.run.source.reading.stores[self.relation.side.facts.store]
            assert isinstance(store, ConstraintStore), "the plan asks stores that cannot answer"
            yield from InStore(store.constraint_reader(), self.relation).look(plans)

    def _by_keys(self, plans: Sequence[ConstraintPlan]) -> Iterator[Violations]:
        keys = self._keys()
        if own := [one.constraint for one in plans if one.parent is None]:
            yield from keys.repeated(own)
        for one in plans:
            if one.parent is not None:
                yield keys.unmatched(one)

    def _by_sql(self, plans: Sequence[ConstraintPlan]) -> Iterator[Violations]:
        rows = self._rows()
        of_rows = [one.constraint for one in plans if one.constraint.kind in _OF_ROWS]
        if of_rows:
            salt = self.run.source.state.salt
            yield from RowsBySql(self.run.source.reading, self.relation, rows, salt).look(of_rows)
        keys = self._keys()
        of_keys = [one for one in plans if one.constraint.is_of_keys]
        if own := [one.constraint for one in of_keys if one.parent is None]:
            yield from keys.repeated_by_sql(own, rows)
        for one in of_keys:
            if one.parent is not None:
                yield keys.unmatched_by_sql(one, rows, self._rows_of(one.parent))

    def _keys(self) -> KeyLooks:
        return KeyLooks(self.run.source.reading, self.relation, self.run.source.state.salt)

    def _rows(self) -> RowFrames:
        plan = self.relation.table
        if plan.pairs is not None:
            return self._decoded(plan)
        return SparkRows(self.run.source.reading, plan.side.facts)

    def _rows_of(self, parent: Parent) -> RowFrames:
        if parent.pairs is not None:
            return self._decoded(parent.pairs)
        return SparkRows(self.run.source.reading, parent.facts)

    def _decoded(self, plan: TablePlan) -> RowFrames:
        # Loading the loops that decode pairs takes a second, which only pairs should cost.
        from checks.pairs.row_frames import DecodedRows

        return DecodedRows(self.run.source.reading, plan)
