# SPDX-License-Identifier: Apache-2.0
"""Deciding how each constraint of a table is checked: a pure function of request and facts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checks.fitting_columns import missing_or_other
from checks.pairs.plan import PinnedPairs, plan_pairs
from checks.pairs.row_columns import refusal
from checks.registry import CONSTRAINT
from scrub.catalog.dependence import depends_on_zone
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition
from scrub.errors import RelationMismatch, UsageError
from scrub.model.constraint import Constraint, ConstraintKind
from scrub.model.plan import ConstraintPlan, NotChecked, Parent, Side, TablePlan, Way
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine
from scrub.model.table import Table

HELD_KEYS_MAX = 4_000_000
"""Parents with at most so many keys travel to the tasks that read the children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedConstraints:
    """The constraints to check of a table, at one snapshot, and the tables they refer to."""

    table: Table
    facts: RelationFacts
    constraints: tuple[Constraint, ...]
    parents: Mapping[str, Parent]  # by foreign key
    pairs: Mapping[str, PinnedPairs] = field(default_factory=dict)  # of parents that are pairs

    @property
    def at(self) -> tuple[str, str]:
        return self.table.name, self.facts.snapshot.label


def with_constraints(
    tables: Sequence[TablePlan],
    pinned: Sequence[PinnedConstraints],
    request: CheckRequest,
    native_refusal: str | None,
) -> tuple[list[TablePlan], list[NotChecked]]:
    """The plans of tables with those of their constraints, and what cannot be checked."""
    by_table = {(of.table.name, of.facts.snapshot): of for of in pinned}
    skipped: list[NotChecked] = []
    planned: list[TablePlan] = []
    for table in tables:
        of_table = by_table.get((table.table.name, table.side.facts.snapshot))
        if of_table is not None:
            found = list(ConstraintPlanner(request, of_table, table.side, native_refusal).plan())
            ready = tuple(one for one in found if isinstance(one, ConstraintPlan))
            table = replace(table, constraints=ready)  # noqa: PLW2901
            skipped += [one for one in found if isinstance(one, NotChecked)]
        if table.indexes or table.whole or table.constraints:
            planned.append(table)
    return planned, skipped


@dataclass(frozen=True, slots=True)
class ConstraintPlanner:
    """Plans the constraints of one table."""

    request: CheckRequest
    pinned: PinnedConstraints
    side: Side  # how the scan that serves the indexes reads the table
    native_refusal: str | None

    def plan(self) -> Iterator[ConstraintPlan | NotChecked]:
        """A plan for each constraint, or why it cannot be checked."""
        for constraint in self.pinned.constraints:
            columns = judged_columns(self.pinned.table, constraint)
            if mismatches := list(self._mismatches(constraint, columns)):
                yield self._unfit(constraint, mismatches)
                continue
            if undecodable := next(self._undecodable(constraint, columns), None):
                yield self._refused(constraint, undecodable)
                continue
            parent = self._parent(constraint)
            way, reason = self._way(constraint, parent)
            if self.request.engine is Engine.NATIVE and not self._is_native(way, parent):
                raise UsageError(
                    f"--engine native cannot check constraint {constraint.name} of "
                    f"{self.pinned.table.name}: {reason}",
                    hint="use --engine auto, or name other constraints with --constraint",
                )
            yield ConstraintPlan(
                constraint=constraint,
                way=way,
                reason=reason,
                columns=columns,
                parent=parent,
                notes=tuple(self._notes(constraint, parent, way)),
            )

    def _mismatches(self, constraint: Constraint, columns: tuple[str, ...]) -> Iterator[str]:
        table, facts = self.pinned.table, self.pinned.facts
        if table.kv is not None:
            return  # a pair has the columns that it decodes to
        wanted = {name: table.column(name).type for name in (*columns, *table.primary_key)}
        yield from missing_or_other(facts, wanted, f"table {table.name}")
        parent = self.pinned.parents.get(constraint.name)
        if parent is not None and parent.table.kv is None:
            of_key = {name: parent.table.column(name).type for name in parent.table.primary_key}
            yield from missing_or_other(parent.facts, of_key, f"table {parent.table.name}")

    def _unfit(self, constraint: Constraint, mismatches: list[str]) -> NotChecked:
        error = RelationMismatch("\n".join(mismatches), hint="correct the catalog, or the relation")
        name = self.pinned.table.name
        return NotChecked.because_of(
            error, table=name, check=CONSTRAINT.name, constraint=constraint.name
        )

    def _undecodable(self, constraint: Constraint, columns: tuple[str, ...]) -> Iterator[str]:
        """Why decoded rows cannot tell whether the constraint is kept."""
        parent = self.pinned.parents.get(constraint.name)
        sides = [(self.pinned.table, columns)]
        sides += [(parent.table, parent.table.primary_key)] if parent is not None else []
        for table, names in sides:
            if table.kv is not None and (reason := refusal(table, constraint, names)):
                yield reason

    def _refused(self, constraint: Constraint, reason: str) -> NotChecked:
        return NotChecked(
            table=self.pinned.table.name,
            check=CONSTRAINT.name,
            index=None,
            constraint=constraint.name,
            reason=reason,
            incomplete=True,
            snapshot=self.pinned.facts.snapshot.label,
        )

    def _parent(self, constraint: Constraint) -> Parent | None:
        """The table that a foreign key refers to, with a plan of its pairs if it has some."""
        parent = self.pinned.parents.get(constraint.name)
        of_pairs = self.pinned.pairs.get(constraint.name)
        if parent is None or of_pairs is None:
            return parent
        return replace(parent, pairs=plan_pairs(self.request, of_pairs, self.native_refusal))

    def _is_native(self, way: Way, parent: Parent | None) -> bool:
        """Whether tasks open everything that is read; pairs are planned so, or not at all."""
        if way is not Way.SQL:
            return True
        return self.pinned.table.kv is not None and (parent is None or parent.pairs is not None)

    def _way(self, constraint: Constraint, parent: Parent | None) -> tuple[Way, str]:
        if obstacle := self._obstacle():
            return Way.SQL, obstacle
        if _is_in_server(self.pinned.facts):
            return self._way_in_server(constraint, parent)
        match constraint.kind:
            case ConstraintKind.NOT_NULL:
                return self._way_of_rows("tasks open the files")
            case ConstraintKind.CHECK:
                if native_condition(constraint.condition or "", self.pinned.table) is None:
                    return Way.SQL, "only Spark evaluates the expression"
                return self._way_of_rows("tasks open the files")
            case ConstraintKind.UNIQUE | ConstraintKind.PRIMARY_KEY:
                return Way.KEYS, "tasks open the files"
            case ConstraintKind.FOREIGN_KEY:
                return self._way_of_files(parent)

    def _obstacle(self) -> str | None:
        """Why Spark has to read the rows."""
        facts, where = self.pinned.facts, self.request.where
        if self.pinned.table.kv is not None:
            return "rows are decoded from pairs"
        if self.request.engine is Engine.SQL:
            return "asked for"
        if not facts.native:
            return facts.native_reason
        if where and native_condition(where, self.pinned.table) is None:
            return "--where needs Spark"
        if not facts.splits:
            return "there is nothing to open"
        return self.native_refusal

    def _way_in_server(self, constraint: Constraint, parent: Parent | None) -> tuple[Way, str]:
        asked = "the server is asked directly"
        if constraint.kind is ConstraintKind.CHECK:
            node = native_condition(constraint.condition or "", self.pinned.table)
            return (Way.STORE, asked) if node else (Way.SQL, "only Spark evaluates the expression")
        if parent is not None:
            together = parent.facts.store == self.pinned.facts.store
            if not (together and _is_in_server(parent.facts)):
                return Way.SQL, f"{parent.table.name} is in another store"
        return Way.STORE, asked

    def _way_of_rows(self, reason: str) -> tuple[Way, str]:
        if self.side.engine is Engine.SQL:
            return Way.SQL, self.side.reason
        return Way.SCAN, reason

    def _way_of_files(self, parent: Parent | None) -> tuple[Way, str]:
        assert parent is not None, "a foreign key is planned with its parent"
        facts = parent.facts
        if parent.table.kv is not None or not facts.native or _is_in_server(facts):
            return Way.SQL, f"tasks cannot open {parent.table.name}"
        if facts.rows is not None and facts.rows > HELD_KEYS_MAX:
            return Way.KEYS, f"{parent.table.name} has more than {HELD_KEYS_MAX:,} rows"
        if self.side.engine is Engine.SQL:
            return Way.KEYS, "tasks open the files"
        return Way.SCAN, f"the keys of {parent.table.name} travel to the tasks"

    def _notes(self, constraint: Constraint, parent: Parent | None, way: Way) -> Iterator[str]:
        if parent is not None:
            yield f"refers to {parent.label}"
            if not parent.facts.snapshot.pinned:
                yield f"{parent.facts.relation} offers no snapshot: two readings of it may differ"
        table = self.pinned.table
        if way is Way.SQL and depends_on_zone(constraint.condition or "true", table.types):
            yield f"expression evaluated in time zone {table.time_zone}"


def judged_columns(table: Table, constraint: Constraint) -> tuple[str, ...]:
    """The columns that tell whether a row keeps a constraint, in the table's order."""
    names = constraint.columns
    if constraint.condition is not None:
        names = tuple(columns_used(constraint.condition, table.types))
    if constraint.is_of_keys:
        return names  # the order of a key is that of the key it refers to
    return tuple(name for name in table.types if name in names)


def _is_in_server(facts: RelationFacts) -> bool:
    of_server = [split.kind is SplitKind.POSTGRES for split in facts.splits]
    return bool(of_server) and all(of_server)
