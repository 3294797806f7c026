# SPDX-License-Identifier: Apache-2.0
"""Fixing the snapshots a check compares: each relation once, at the version that is meant."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from checks.check import Check, TableCheck
from checks.constraints.plan import PinnedConstraints
from checks.pairs.plan import PinnedPairs
from checks.plan import PinnedIndex, PinnedTable
from checks.registry import CONSTRAINT, INDEX, checks_of
from scrub.app.checking.constraint_pinning import ConstraintPins
from scrub.app.checking.not_built import not_built
from scrub.app.checking.pair_pinning import PairPins
from scrub.app.checking.table_errors import spoken_by_spark, together
from scrub.app.selection import select_indexes
from scrub.errors import (
    RelationMismatch,
    RelationMissing,
    ScrubError,
    StoreUnavailable,
    UsageError,
)
from scrub.model.command_line import backfill_line
from scrub.model.plan import NotChecked
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf, CheckRequest
from scrub.model.table import Column, Index, Reflects, Table
from scrub.stores.base import (
    FollowedStore,
    Following,
    KeepingStore,
    ReadableStore,
    SessionProvider,
)
from scrub.stores.reflected import reflected_point


@dataclass(slots=True)
class Pins:
    """What a request compares, with whatever could not be pinned."""

    stores: Mapping[str, ReadableStore]
    kinds: Mapping[str, str]  # of the stores
    session: SessionProvider
    request: CheckRequest
    catalog: tuple[Table, ...]  # every table, for pairs of several may be in one relation
    sources: list[PinnedIndex] = field(default_factory=list)
    whole: list[PinnedTable] = field(default_factory=list)
    pairs: list[PinnedPairs] = field(default_factory=list)
    constraints: list[PinnedConstraints] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    followed: dict[tuple[str, str], PinnedIndex] = field(default_factory=dict)
    """Indexes that follow, as they were first pinned: without a lag there is nothing to settle."""
    _pinned: dict[tuple[str, str, AsOf | None], RelationFacts] = field(default_factory=dict)

    def pin_all(self, tables: Sequence[Table]) -> None:
        """Pin every table and index; what cannot be pinned is noted, and costs no other."""
        of_pairs = PairPins(
            self.request, self.catalog, self._pin, self._as_of, self.pairs, self.not_checked
        )
        of_constraints = ConstraintPins(
            self.request, self.catalog, self._pin, self._as_of, of_pairs
        )
        for table in tables:
            checks = checks_of(self.request, table)
            if CONSTRAINT in checks:
                of_constraints.pin_table(table)
            if table.kv is not None:
                of_pairs.pin_table(table)
                continue
            if INDEX in checks:
                self._pin_indexes(table)
            for check in checks:
                if isinstance(check, TableCheck):
                    self._pin_alone(table, check)
        self.constraints = of_constraints.pinned
        self.not_checked += of_constraints.not_checked

    def _pin_indexes(self, table: Table) -> None:
        chosen = select_indexes(table, self.request)
        indexes = [index for index in chosen if not index.is_own]
        if not chosen:
            reason = "no index of this table was asked for" if table.indexes else "no indexes"
            self._skip(table, None, reason)
        for index in indexes:
            self._pin_pair(table, index)

    def _pin_alone(self, table: Table, check: TableCheck) -> None:
        """The table at the version that was asked for; what its indexes reflect has no say."""
        if reason := check.refusal(table):
            self._skip(table, None, reason, check)
            return
        wanted = self._as_of(table.name, is_table=True)
        try:
            facts = self._pin(table.store, table.relation, wanted, table.columns)
        except (RelationMismatch, StoreUnavailable) as error:
            self._fail(table, None, error, check)
        else:
            self.whole.append(PinnedTable(table=table, facts=facts, check=check))

    def _pin_pair(self, table: Table, index: Index) -> None:
        if (table.name, index.name) in self.followed:
            self.sources.append(self.followed[table.name, index.name])
            return
        try:
            index_facts = self._pin_index(index)
            if self._following(index_facts, table).being_built and not self.request.being_built:
                self._skip(table, index, "it is still being built")
                return
            table_facts = self._pin_table(table, index, index_facts)
            upkeep = tuple(self._upkeep(table, index))
        except RelationMismatch as error:
            self._fail(table, index, self._with_the_tables(table, index, error))
        except StoreUnavailable as error:
            self._fail(table, index, error)
        else:
            shown = self._followed(index, index_facts, table)
            source = PinnedIndex(
                table=table,
                index=index,
                table_facts=table_facts,
                index_facts=index_facts,
                notes=(*_notes(index, shown), *upkeep),
            )
            self.sources.append(source)
            if shown is not None:
                self.followed[table.name, index.name] = source

    def _upkeep(self, table: Table, index: Index) -> Iterator[str]:
        """What keeps an index and does not fit its table: it agrees now, and may not for long."""
        store = self.stores[index.store]
        if index.store != table.store or not isinstance(store, KeepingStore):
            return
        upkeep = store.upkeep(table.relation, index.relation)
        renew = backfill_line("renew", table, index.name, "--execute")
        yield from (f"{told}; renew its functions with: {renew}" for told in upkeep.to_renew)
        yield from upkeep.to_check

    def _with_the_tables(self, table: Table, index: Index, error: RelationMismatch) -> ScrubError:
        """What is wrong with an index, and also with its table, when the index was missed first."""
        try:
            self._pin(table.store, table.relation, None, table.columns)
        except RelationMismatch as of_table:
            return together([error, of_table])
        except StoreUnavailable:
            return error  # what is known to be wrong is enough to answer
        if not isinstance(error, RelationMissing):
            return error
        return not_built(table, index, error, self.kinds, choose=not self.request.being_built)

    def _pin_index(self, index: Index) -> RelationFacts:
        columns = [
            Column(name=column.name, type=column.type) for column in index.entry if column.type
        ]
        wanted = self._as_of(index.name)
        return self._pin(index.store, index.relation, wanted, columns)

    def _pin_table(self, table: Table, index: Index, index_facts: RelationFacts) -> RelationFacts:
        wanted = self._as_of(table.name, is_table=True)
        if index.reflects is not None and wanted is None:
            wanted = self._reflected(index, index.reflects, index_facts)
        shown = self._followed(index, index_facts, table)
        if shown is None:
            return self._pin(table.store, table.relation, wanted, table.columns)
        try:
            return self._pin(table.store, table.relation, AsOf(version=shown), table.columns)
        except RelationMismatch as error:
            # The index is what it is; it is the table's history that was cleaned up.
            raise StoreUnavailable(
                f"the index follows the table and shows version {shown}, but {error}"
            ) from error

    def _followed(self, index: Index, facts: RelationFacts, table: Table) -> int | None:
        """The version of the table that the index says it shows, unless the user says otherwise."""
        if index.reflects is not None or self._as_of(table.name, is_table=True) is not None:
            return None
        return self._following(facts, table).shown

    def _following(self, facts: RelationFacts, table: Table) -> Following:
        store, of_table = self.stores[facts.store], self.stores[table.store]
        if isinstance(store, FollowedStore) and isinstance(of_table, FollowedStore):
            return store.following(facts, table.relation)
        return Following()

    def _pin(
        self, store: str, relation: str, as_of: AsOf | None, columns: Sequence[Column]
    ) -> RelationFacts:
        key = (store, relation, as_of)
        if key not in self._pinned:
            with spoken_by_spark(relation):
                self._pinned[key] = self.stores[store].pin(relation, as_of, self.session, columns)
        return self._pinned[key]

    def _as_of(self, name: str, is_table: bool = False) -> AsOf | None:
        """A moment holds for everything, a version for what it names, else for the table."""
        chosen = None
        for as_of in self.request.as_of:
            if as_of.time is not None:
                chosen = chosen or AsOf(time=as_of.time)
            elif as_of.relation == name or (as_of.relation is None and is_table):
                chosen = AsOf(version=as_of.version)
        return chosen

    def _reflected(self, index: Index, reflects: Reflects, facts: RelationFacts) -> AsOf:
        if reflects.version is not None:
            return AsOf(version=reflects.version)
        if reflects.time is not None:
            return AsOf(time=_moment(reflects.time))
        assert reflects.column is not None, "one field of `reflects` is set"
        return reflected_point(
            self.session(), self.stores[index.store], facts, reflects.column, index.name
        )

    def _fail(
        self, table: Table, index: Index | None, error: ScrubError, check: Check = INDEX
    ) -> None:
        name = index.name if index else None
        failed = NotChecked.because_of(error, table=table.name, check=check.name, index=name)
        self.not_checked.append(failed)

    def _skip(self, table: Table, index: Index | None, reason: str, check: Check = INDEX) -> None:
        name = index.name if index else None
        skipped = NotChecked(table=table.name, check=check.name, index=name, reason=reason)
        self.not_checked.append(skipped)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"`reflects` says {text}, which is not a time") from error


def _notes(index: Index, shown: int | None) -> Iterator[str]:
    if index.reflects is not None:
        yield "compared with the version of the table that `reflects` names"
    if shown is not None:
        yield f"follows the table: compared with version {shown}"
