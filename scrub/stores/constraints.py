# SPDX-License-Identifier: Apache-2.0
"""What a store offers that can look for violated constraints itself, without moving rows.

Everything is read at the snapshot of the pinned relations. Values are compared as the catalog means
them: strings by their bytes, decimals by value, time by instant, NaN equal to NaN, -0.0 to 0.0.
Every method raises StoreUnavailable, with the reason, if the store cannot tell.

Rows are handed over as Arrow batches in the catalog's types, one batch at a time. Their columns are
called p0, p1, ... for the primary key, and k0, k1, ... for the key of the constraint. With a limit,
those with the lowest primary keys are given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from scrub.model.predicate import ColumnTerm, Node
from scrub.model.relation import RelationFacts


@dataclass(frozen=True, slots=True)
class ConstrainedRows:
    """The rows that are looked at: those of a pinned relation for which `where` is true."""

    facts: RelationFacts
    primary_key: tuple[ColumnTerm, ...]
    where: Node | None = None


@dataclass(frozen=True, slots=True)
class RowRules:
    """Constraints that each row satisfies or breaks by itself."""

    never_null: tuple[ColumnTerm, ...] = ()
    checks: tuple[Node, ...] = ()  # broken where they are false, not where they are NULL


@dataclass(frozen=True, slots=True)
class BrokenRules:
    """How many rows were looked at, and how many of them break each rule, in the rules' order."""

    rows: int
    nulls: tuple[int, ...]
    checks: tuple[int, ...]

    @property
    def any(self) -> bool:
        return any(self.nulls) or any(self.checks)


@dataclass(frozen=True, slots=True)
class RepeatedKeys:
    """How many keys occur more than once, and how many rows have one of them.

    Rows with the same primary key count once. A NULL in it makes them different rows, which still
    count once if they have both keys in common.
    """

    keys: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: rows, and the relation of the same store that must hold their keys."""

    rows: ConstrainedRows
    key: tuple[ColumnTerm, ...]
    parent: RelationFacts
    parent_key: tuple[ColumnTerm, ...]  # in the order of `key`; integers may differ in width


class ConstraintReader(Protocol):
    """Counts violations, and names the rows; the counts are exact."""

    def count_broken(self, rows: ConstrainedRows, rules: RowRules) -> BrokenRules:
        """Judge all rules in one scan."""

    def rows_that_break(
        self,
        rows: ConstrainedRows,
        rules: RowRules,
        beside: Sequence[ColumnTerm] = (),
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows that break any of the rules: p0, ..., then c0, ... for the columns of `beside`.

        Then come n0, ... and f0, ..., which are true if the row has a NULL there, or the check is
        false for it.
        """

    def count_shared(self, rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> RepeatedKeys:
        """Count rows of different primary keys that share a key without a NULL."""

    def rows_that_share(
        self, rows: ConstrainedRows, key: Sequence[ColumnTerm], limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Those rows: p0, ..., k0, ..., and `copies`, the number of rows with both."""

    def count_copied(self, rows: ConstrainedRows) -> RepeatedKeys:
        """Count primary keys without a NULL that more than one row has; `rows` is the same."""

    def primary_keys_copied(
        self, rows: ConstrainedRows, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Those primary keys: p0, ..., and `copies`, the number of rows."""

    def count_without_parent(self, reference: Reference) -> int:
        """Count rows whose key, without a NULL, no row of the parent has."""

    def rows_without_parent(
        self, reference: Reference, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Those rows: p0, ..., k0, ..."""


@runtime_checkable
class ConstraintStore(Protocol):
    """A store that can look for violated constraints of its own relations."""

    def constraint_reader(self) -> ConstraintReader:
        """What looks, at the store's snapshot; all relations that it is asked for are pinned."""
