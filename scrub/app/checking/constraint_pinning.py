# SPDX-License-Identifier: Apache-2.0
"""Fixing the snapshots that constraints are checked at: of the table, and of its parents.

The table is pinned before its parents. So a row that was written after the table was pinned can
never be missed in a parent that was pinned earlier.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checks.constraints.plan import PinnedConstraints
from checks.pairs.plan import PinnedPairs
from checks.registry import CONSTRAINT, PHYSICAL, checks_of
from scrub.app.checking.pair_pinning import WHERE_DOES_NOT_APPLY, AsOfNamed, PairPins, Pin
from scrub.app.selection import select_constraints
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.constraint import NOT_NULL, PRIMARY_KEY, Constraint
from scrub.model.plan import NotChecked, Parent
from scrub.model.relation import RelationFacts
from scrub.model.request import CheckRequest
from scrub.model.table import Table

NULLS_ELSEWHERE = "the physical check reports NULLs"
COPIES_ELSEWHERE = "the physical check reports rows whose pairs are there more than once"


@dataclass(slots=True)
class ConstraintPins:
    """The constraints that a request means, with whatever could not be pinned."""

    request: CheckRequest
    catalog: Sequence[Table]
    pin: Pin
    as_of: AsOfNamed
    of_pairs: PairPins
    pinned: list[PinnedConstraints] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)

    def pin_table(self, table: Table) -> None:
        """Pin a table and its parents; a parent that cannot be pinned costs one constraint."""
        chosen = list(self._chosen(table))
        if not chosen:
            return
        try:
            of_table = self._facts(table, is_table=True)
        except (RelationMismatch, StoreUnavailable) as error:
            self.not_checked += [self._failed(table, one, error) for one in chosen]
            return
        parents: dict[str, Parent] = {}
        pairs: dict[str, PinnedPairs] = {}
        for constraint in chosen:
            if constraint.references is None:
                continue
            try:
                parent = self._table(constraint.references)
                if parent.kv is not None:
                    pairs[constraint.name] = self._pairs(parent, table)
                facts = self._facts(parent, is_table=parent.name == table.name)
                parents[constraint.name] = Parent(table=parent, facts=facts)
            except (RelationMismatch, StoreUnavailable) as error:
                self.not_checked.append(self._failed(table, constraint, error))
        ready = [one for one in chosen if one.references is None or one.name in parents]
        self.pinned.append(
            PinnedConstraints(
                table=table,
                facts=of_table,
                constraints=tuple(ready),
                parents=parents,
                pairs=pairs,
            )
        )

    def _chosen(self, table: Table) -> Iterator[Constraint]:
        """What the request means, without what the physical check reports if it is made."""
        found = select_constraints(table, self.request)
        if not found:
            self._skip(table, None, "no constraint of this table was asked for")
        for constraint in found:
            elsewhere = _reported_elsewhere(table, constraint)
            if elsewhere and PHYSICAL in checks_of(self.request, table):
                if self.request.checks or self.request.constraints:
                    self._skip(table, constraint, elsewhere)
                continue
            if table.kv is not None and self.request.where is not None:
                self._skip(table, constraint, WHERE_DOES_NOT_APPLY)
                continue
            yield constraint

    def _facts(self, table: Table, *, is_table: bool) -> RelationFacts:
        wanted = self.as_of(table.name, is_table)
        if table.kv is not None:
            return self.of_pairs.rows_of(table, wanted).facts
        stored = [column for column in table.columns if column.computed is None]
        return self.pin(table.store, table.relation, wanted, stored)

    def _table(self, name: str) -> Table:
        return next(of for of in self.catalog if of.name == name)

    def _pairs(self, parent: Table, child: Table) -> PinnedPairs:
        held = self.of_pairs.rows_of(parent, self.as_of(parent.name, parent.name == child.name))
        return PinnedPairs(table=parent, relations=(held,), indexes=(), physical=False)

    def _failed(self, table: Table, constraint: Constraint, error: ScrubError) -> NotChecked:
        return NotChecked.because_of(
            error, table=table.name, check=CONSTRAINT.name, constraint=constraint.name
        )

    def _skip(self, table: Table, constraint: Constraint | None, reason: str) -> None:
        self.not_checked.append(
            NotChecked(
                table=table.name,
                check=CONSTRAINT.name,
                index=None,
                constraint=constraint.name if constraint else None,
                reason=reason,
            )
        )


def _reported_elsewhere(table: Table, constraint: Constraint) -> str | None:
    """Why a constraint need not be checked where the physical check is made."""
    if constraint.name == NOT_NULL:
        return NULLS_ELSEWHERE
    # The keys of pairs are the primary key, and a second spelling of one is not canonical.
    if table.kv is not None and constraint.name == PRIMARY_KEY:
        return COPIES_ELSEWHERE
    return None
