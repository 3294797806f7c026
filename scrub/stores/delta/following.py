# SPDX-License-Identifier: Apache-2.0
"""An index in Delta follows its table: commit by commit, in the order of the table's versions.

No transaction spans two Delta tables, and writers that commit to both can do so in different
orders. Therefore only followers write the index: each of its commits carries the version of the
table that it shows (a transaction in Delta's log), and is made only on top of the version before.
A follower that is killed has committed a version or has not. One that is late finds that version
committed and goes on with the next. So following is idempotent and keeps no state of its own.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

from scrub.errors import RelationMismatch
from scrub.model.command_line import follow_line
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.table import Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta.changes import CAME, WENT, CannotFollow, TableCommit, read_commit
from scrub.stores.delta.commit import Mark
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.entry_making import EntryMaker, entry_maker, with_types
from scrub.stores.delta.features import unsupported
from scrub.stores.delta.index_changes import ChangeSum, IndexChanges
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.marks import (
    BuildState,
    build_state,
    follow_mark,
    followed_version,
    require_same_table,
)
from scrub.stores.delta.rows import misfits
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.row_entries import columns_for_entries

COMMIT_BYTES_MAX = 128 * 1024 * 1024
CHANGES_MAX = 1_000_000


class TooMuchChanged(Exception):
    """A commit changed more than is held in memory: loading the index again costs less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedVersion:
    """The index shows another version of the table."""

    version: int
    taken: int = 0
    added: int = 0
    absent: int = 0  # entries to be deleted that did not exist: the index was wrong
    loaded: bool = False  # made again from the whole table


@dataclass(slots=True, kw_only=True)
class Followed:
    """How far an index has come."""

    index: str
    first: int  # the version that the index showed before
    version: int  # and now
    table_version: int  # the latest, when it was last looked at
    steps: list[FollowedVersion] = field(default_factory=list)

    @property
    def lag(self) -> int:
        return self.table_version - self.version


StepListener = Callable[[FollowedVersion], None]
Reload = Callable[[int], FollowedVersion | None]


@dataclass(frozen=True)
class Follower:
    """Keeps one index of a table in step with it."""

    table: Table
    index: Index
    lake: Lake
    session: SessionProvider
    reload: Reload  # loads the index again, at a version of the table

    def catch_up(self, on_step: StepListener) -> Followed:
        """Follow to the table's latest version; raises CannotFollow."""
        first, latest = self.shown(), self._latest()
        followed = Followed(index=self.index.name, first=first, version=first, table_version=latest)
        while True:
            followed.table_version = self._latest()
            followed.version = self.shown()
            if followed.version > followed.table_version:
                raise CannotFollow(
                    f"index {self.index.name} shows version {followed.version} of "
                    f"{self.table.relation}, which has only {followed.table_version}: "
                    "the table was recreated",
                    hint="rebuild the index",
                )
            if followed.version == followed.table_version:
                return followed
            for step in self._advance(followed.version, followed.table_version):
                followed.steps.append(step)
                followed.version = step.version
                on_step(step)

    def shown(self) -> int:
        """The version of the table that the index shows; raises CannotFollow if it says none."""
        with self.lake.latest(self.index) as snapshot:
            _require_not_removing(snapshot)
            version = followed_version(snapshot, self.table.relation)
        if version is None:
            raise CannotFollow(
                f"index {self.index.name} ({self.index.relation}) does not follow "
                f"{self.table.relation}: no commit of it says which version it shows",
                hint="build it, or say which version it shows now: "
                + follow_line(self.table, self.index.name),
            )
        return version

    def adopt(self, version: int) -> None:
        """Make an index that others built follow from a version that the caller vouches for."""
        empty = entry_schema(self.shape.columns).empty_table()

        def follows_nothing(snapshot: DeltaSnapshot) -> bool:
            return followed_version(snapshot, self.table.relation) is None

        applied = self.lake.writer(self.index).apply(
            self.shape, empty, empty, self._mark(version), follows_nothing
        )
        if applied is None:
            raise CannotFollow(f"index {self.index.name} follows {self.table.relation} already")

    @cached_property
    def shape(self) -> EntryShape:
        # An entry for each row: two rows that share a unique key are for the check to find.
        return replace(shape_of(self.table, self._typed), unique=False)

    @cached_property
    def _maker(self) -> EntryMaker:
        return entry_maker(self.table, self._typed, self.lake, self.session)

    @cached_property
    def _typed(self) -> Index:
        return with_types(self.table, self.index, self.session)

    def _advance(self, shown: int, goal: int) -> list[FollowedVersion]:
        """Commit the next version that changes the index, or skip to the goal if none does."""
        with self.lake.latest(self.table) as snapshot:
            _require_readable(snapshot, self.table, self.index)
            with self.lake.latest(self.index) as of_index:
                require_same_table(of_index, snapshot, self.index.name, CannotFollow)
            for version in range(shown + 1, goal + 1):
                commit = read_commit(snapshot, version)
                try:
                    changes = self._changes(commit)
                except TooMuchChanged:
                    step = self.reload(goal)
                    return [] if step is None else [step]
                if changes.entries or version == goal:
                    return self._apply(changes, shown, version)
        return []

    def _changes(self, commit: TableCommit) -> IndexChanges:
        if commit.bytes > COMMIT_BYTES_MAX:
            raise TooMuchChanged
        total = ChangeSum(entry_schema(self.shape.columns))
        for splits, kinds, add in (
            (commit.went, None, total.went),
            (commit.came, None, total.came),
            (commit.feed, WENT, total.went),
            (commit.feed, CAME, total.came),
        ):
            for entries in self._maker.make(splits, kinds):
                add(entries)
        changes = total.result()
        if changes.entries > CHANGES_MAX:
            raise TooMuchChanged
        return changes

    def _apply(self, changes: IndexChanges, shown: int, version: int) -> list[FollowedVersion]:
        def shows_the_one_before(snapshot: DeltaSnapshot) -> bool:
            _require_not_removing(snapshot)
            return followed_version(snapshot, self.table.relation) == shown

        applied = self.lake.writer(self.index).apply(
            self.shape, changes.taken, changes.added, self._mark(version), shows_the_one_before
        )
        if applied is None:
            return []  # another follower was here
        return [FollowedVersion(version=version, **asdict(applied))]

    def _mark(self, version: int) -> Mark:
        return Mark(follow_mark(self.table.relation), version)

    def _latest(self) -> int:
        with self.lake.latest(self.table) as snapshot:
            return snapshot.version


def _require_not_removing(snapshot: DeltaSnapshot) -> None:
    """Refuse an index that is being removed: parts of it may be gone already."""
    if build_state(snapshot) is BuildState.REMOVING:
        raise CannotFollow(
            f"Delta table {snapshot.relation} is being removed",
            hint="cancel or drop the index again, until it is gone",
        )


def _require_readable(snapshot: DeltaSnapshot, table: Table, index: Index) -> None:
    """Refuse a table that lacks a column, or whose rows its files alone do not determine."""
    if reason := unsupported(snapshot.table):
        raise CannotFollow(f"Delta table {snapshot.relation} cannot be followed: it {reason}")
    for column, stored in misfits(snapshot, columns_for_entries(table, index)):
        raise RelationMismatch(
            f"table {table.name}: "
            + (
                f"relation {snapshot.relation} has no column {column.name}"
                if stored is None
                else f"column {column.name} of {snapshot.relation} is stored as {stored}, the "
                f"catalog says {column.type}"
            ),
            hint="correct the catalog, or the relation",
        )
