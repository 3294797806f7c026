# SPDX-License-Identifier: Apache-2.0
"""Fixing the snapshots of a table in key-value layout: all relations that hold its pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import normpath

from checks.check import TableCheck
from checks.pairs.keys import choose_keys
from checks.pairs.plan import PAIR, STAMP, HeldPairs, PinnedPairs
from checks.registry import CONSTRAINT, INDEX, PHYSICAL, checks_of
from scrub.app.selection import select_indexes
from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.kv import DatumKind, KvTable
from scrub.model.plan import NotChecked
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf, CheckRequest
from scrub.model.table import Column, Index, Table

Place = tuple[str, str]  # a store and a relation in it
Pin = Callable[[str, str, AsOf | None, Sequence[Column]], RelationFacts]
AsOfNamed = Callable[[str, bool], AsOf | None]

WHERE_DOES_NOT_APPLY = "--where applies to columns, and pairs are bytes"
COLLATED = "its collation keys are not in the rows, and cannot be computed here"


@dataclass(slots=True)
class PairPins:
    """What a request compares of tables of pairs; knows which relations several of them share."""

    request: CheckRequest
    catalog: tuple[Table, ...]
    pin: Pin
    as_of: AsOfNamed  # a name, and whether it is the table's
    pinned: list[PinnedPairs] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    strangers_sought: set[Place] = field(default_factory=set)

    def pin_table(self, table: Table) -> None:
        """Pin all relations of a table, or note why it cannot be checked."""
        if self.request.where is not None:
            for name, subject in self._asked_for(table):
                self._skip(table, name, subject, WHERE_DOES_NOT_APPLY)
            return
        checks = checks_of(self.request, table)
        if checks == (CONSTRAINT,):
            self._pin_rows(table)
            return
        try:
            held = [self._held(table, place, of) for place, of in self._relations(table).items()]
        except (StoreUnavailable, RelationMismatch) as error:
            self.not_checked += [
                NotChecked.because_of(error, table=table.name, check=name, index=subject)
                for name, subject in self._asked_for(table)
            ]
            if CONSTRAINT in checks:
                self._pin_rows(table)
            return
        asked_for = select_indexes(table, self.request) if INDEX in checks else ()
        pinned = PinnedPairs(
            table=table,
            relations=tuple(held),
            indexes=tuple(index for index in asked_for if not _is_collated(table, index.name)),
            physical=PHYSICAL in checks,
            constraints=CONSTRAINT in checks,
        )
        for check in checks:
            if isinstance(check, TableCheck) and (reason := check.refusal(table)):
                self._skip(table, check.name, None, reason, snapshot=pinned.snapshot)
        for index in asked_for:
            if index not in pinned.indexes:
                self._skip(table, INDEX.name, index.name, COLLATED, snapshot=pinned.snapshot)
        if pinned.physical:
            self.strangers_sought |= {_place(*of) for of in self._relations(table)}
        if pinned.indexes or pinned.physical or pinned.constraints:
            self.pinned.append(pinned)
        elif INDEX in checks and not asked_for:
            reason = "no index of this table was asked for" if table.indexes else "no indexes"
            self._skip(table, INDEX.name, None, reason)

    def _pin_rows(self, table: Table) -> None:
        """Pin what holds the rows, for constraints; `ConstraintPins` tells why it cannot be."""
        try:
            rows = self._held(table, (table.store, table.relation), table.name)
        except (StoreUnavailable, RelationMismatch):
            return
        self.pinned.append(PinnedPairs(table=table, relations=(rows,), indexes=(), physical=False))

    def rows_of(self, table: Table, as_of: AsOf | None) -> HeldPairs:
        """The relation that holds the rows of a table."""
        return self._held_at(table, (table.store, table.relation), as_of)

    def _held(self, table: Table, place: Place, named_after: str) -> HeldPairs:
        return self._held_at(table, place, self.as_of(named_after, named_after == table.name))

    def _held_at(self, table: Table, place: Place, as_of: AsOf | None) -> HeldPairs:
        assert table.kv is not None
        store, relation = place
        facts = self.pin(store, relation, as_of, PAIR)
        missing = [column.name for column in PAIR if column.name not in facts.columns]
        if missing:
            raise RelationMismatch(
                f"table {table.name}: relation {relation} has no column {' and '.join(missing)}",
                hint="pairs are in columns `key` and `value`, both binary",
            )
        keys = choose_keys(
            table.kv,
            self._others(table, place),
            strangers=_place(*place) not in self.strangers_sought,
            has_versions=STAMP in facts.columns,
        )
        return HeldPairs(facts=facts, keys=keys)

    def _relations(self, table: Table) -> dict[Place, str]:
        """Where the pairs are that the request means, and what each place is named after."""
        relations = {(table.store, table.relation): table.name}
        for index in select_indexes(table, self.request):
            relations.setdefault((index.store, index.relation), index.name)
        return relations

    def _others(self, table: Table, place: Place) -> list[KvTable]:
        return [
            other.kv
            for other in self.catalog
            if other.kv is not None
            and other.name != table.name
            and _place(*place) in {_place(of.store, of.relation) for of in _holders(other)}
        ]

    def _asked_for(self, table: Table) -> Iterator[tuple[str, str | None]]:
        """Every check of the table and what it has outcomes for."""
        checks = (check for check in checks_of(self.request, table) if check is not CONSTRAINT)
        for check in checks:
            for subject in check.subjects(select_indexes(table, self.request)):
                yield check.name, subject

    def _skip(
        self, table: Table, check: str, index: str | None, reason: str, snapshot: str | None = None
    ) -> None:
        self.not_checked.append(
            NotChecked(table=table.name, check=check, index=index, reason=reason, snapshot=snapshot)
        )


def _holders(table: Table) -> tuple[Table | Index, ...]:
    return (table, *table.indexes)


def _place(store: str, relation: str) -> Place:
    """Two spellings of one path are one relation."""
    return store, normpath(relation)


def _is_collated(table: Table, name: str) -> bool:
    """Whether an index has a collation key that is in no pair of the row, nor can be computed."""
    assert table.kv is not None
    (index,) = (of for of in table.kv.indexes if of.name == name)
    in_row = {part.column for part in table.kv.primary_key}
    return any(
        table.kv.by_id[part.column].type.kind is DatumKind.COLLATED and part.column not in in_row
        for part in index.parts
    )
