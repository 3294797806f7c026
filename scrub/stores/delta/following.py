# SPDX-License-Identifier: Apache-2.0
"""An index in Delta follows its table: commit by commit, in the order of the table's versions.

No transaction spans two Delta tables, and writers that commit to both can do so in different
orders. Therefore only followers write the index: each of its commits carries the version of the
table that it shows (a transaction in Delta's log), and is made only on top of the version before.
A follower that is killed has committed a version or has not. One that is late finds that version
committed and goes on with the next. So following is idempotent and keeps no state of its own.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.table import Index, Store, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta.changes import (
    CAME,
    WENT,
    CannotFollow,
    FileRole,
    TableCommit,
    read_commit,
    splits_of,
)
from scrub.stores.delta.commit import Mark
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.entry_making import EntryMaker, entry_maker, with_types
from scrub.stores.delta.followable import require_not_removing, require_readable
from scrub.stores.delta.index_changes import ChangeSum, IndexChanges
from scrub.stores.delta.marks import (
    TABLE_ID,
    follow_mark,
    followed_version,
)
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.delta.store import DeltaStore
from scrub.stores.delta.writes import DeltaWriter

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


@dataclass(slots=True, kw_only=True)
class Follower:
    """Keeps one index of a table in step with it."""

    table: Table
    index: Index
    tables: Store  # where the table lives
    indexes: Store
    session: SessionProvider
    reload: Reload | None = None  # loads the index again, at a version of the table
    _maker: EntryMaker | None = None
    _shape: EntryShape | None = None

    def catch_up(self, on_step: StepListener, until: int | None = None) -> Followed:
        """Follow to the table's latest version, or to `until`; raises CannotFollow."""
        first, latest = self.shown(), self._latest()
        followed = Followed(index=self.index.name, first=first, version=first, table_version=latest)
        while True:
            followed.table_version = self._latest()
            followed.version = self.shown()
            goal = followed.table_version if until is None else min(until, followed.table_version)
            if followed.version > followed.table_version:
                raise CannotFollow(
                    f"index {self.index.name} shows version {followed.version} of "
                    f"{self.table.relation}, which has only {followed.table_version}: "
                    "the table was recreated",
                    hint="rebuild the index",
                )
            if followed.version >= goal:
                return followed
            for step in self._advance(followed.version, goal):
                followed.steps.append(step)
                followed.version = step.version
                on_step(step)

    def shown(self) -> int:
        """The version of the table that the index shows; raises CannotFollow if it says none."""
        with self._open_index() as snapshot:
            require_not_removing(snapshot)
            version = followed_version(snapshot, self.table.relation)
        if version is None:
            raise CannotFollow(
                f"index {self.index.name} ({self.index.relation}) does not follow "
                f"{self.table.relation}: no commit of it says which version it shows",
                hint="build it, or say which version it shows now: "
                f"scrub index follow {self.table.name} {self.index.name} --from VERSION",
            )
        return version

    def adopt(self, version: int) -> None:
        """Make an index that others built follow from a version that the caller vouches for."""
        empty = entry_schema(self.shape.columns).empty_table()

        def follows_nothing(snapshot: DeltaSnapshot) -> bool:
            return followed_version(snapshot, self.table.relation) is None

        applied = self._writer().apply(
            self.shape, empty, empty, self._mark(version), follows_nothing
        )
        if applied is None:
            raise CannotFollow(f"index {self.index.name} follows {self.table.relation} already")

    @property
    def shape(self) -> EntryShape:
        if self._shape is None:
            self.index = with_types(self.table, self.index, self.session)
            # An entry for each row: two rows that share a unique key are for the check to find.
            self._shape = replace(shape_of(self.table, self.index), unique=False)
        return self._shape

    @property
    def maker(self) -> EntryMaker:
        if self._maker is None:
            shape = self.shape
            assert shape.columns, "an entry has columns"
            store = DeltaStore(self.tables)
            root = f"{store.root}/{self.table.relation}"
            self._maker = entry_maker(self.table, self.index, root, store.options, self.session)
        return self._maker

    def _advance(self, shown: int, goal: int) -> list[FollowedVersion]:
        """Commit the next version that changes the index, or skip to the goal if none does."""
        store = DeltaStore(self.tables)
        with open_snapshot(store.root, self.table.relation, store.options) as snapshot:
            require_readable(snapshot, self.table, self.index)
            self._require_same_table(snapshot)
            for version in range(shown + 1, goal + 1):
                commit = read_commit(snapshot, version)
                try:
                    changes = self._changes(commit)
                except TooMuchChanged:
                    if self.reload is None:
                        raise CannotFollow(
                            f"commit {version} of {self.table.relation} changed more than is "
                            "held in memory",
                            hint="rebuild the index",
                        ) from None
                    step = self.reload(goal)
                    return [] if step is None else [step]
                if changes.entries or version == goal:
                    return self._apply(changes, shown, version)
        return []

    def _changes(self, commit: TableCommit) -> IndexChanges:
        if commit.bytes > COMMIT_BYTES_MAX:
            raise TooMuchChanged
        total = ChangeSum(entry_schema(self.shape.columns))
        feed = splits_of(commit.files, FileRole.FEED)
        went, came = (splits_of(commit.files, role) for role in (FileRole.WENT, FileRole.CAME))
        for splits, kinds, add in (
            (went, None, total.went),
            (came, None, total.came),
            (feed, WENT, total.went),
            (feed, CAME, total.came),
        ):
            for entries in self.maker.make(splits, kinds):
                add(entries)
        changes = total.result()
        if changes.entries > CHANGES_MAX:
            raise TooMuchChanged
        return changes

    def _apply(self, changes: IndexChanges, shown: int, version: int) -> list[FollowedVersion]:
        def shows_the_one_before(snapshot: DeltaSnapshot) -> bool:
            require_not_removing(snapshot)
            return followed_version(snapshot, self.table.relation) == shown

        applied = self._writer().apply(
            self.shape, changes.taken, changes.added, self._mark(version), shows_the_one_before
        )
        if applied is None:
            return []  # another follower was here
        return [
            FollowedVersion(
                version=version,
                taken=applied.taken,
                added=applied.added,
                absent=applied.absent,
            )
        ]

    def _mark(self, version: int) -> Mark:
        return Mark(follow_mark(self.table.relation), version)

    def _writer(self) -> DeltaWriter:
        return DeltaWriter(self.indexes)

    def _open_index(self) -> AbstractContextManager[DeltaSnapshot]:
        store = DeltaStore(self.indexes)
        return open_snapshot(store.root, self.index.relation, store.options)

    def _latest(self) -> int:
        store = DeltaStore(self.tables)
        with open_snapshot(store.root, self.table.relation, store.options) as snapshot:
            return snapshot.version

    def _require_same_table(self, snapshot: DeltaSnapshot) -> None:
        with self._open_index() as of_index:
            known = of_index.configuration.get(TABLE_ID)
        if known is not None and known != str(snapshot.table.metadata().id):
            raise CannotFollow(
                f"{self.table.relation} is another table than the one that index "
                f"{self.index.name} was built from: it was recreated",
                hint="rebuild the index",
            )
