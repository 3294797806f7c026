# SPDX-License-Identifier: Apache-2.0
"""Building an index in Delta: make its relation, load a version of the table, follow, publish.

Everything a build knows is in the log of the index itself: a property says that it is being built,
a transaction which version of the table it shows. So a build that was killed is continued by
looking there, and two builds of one index do no harm: the second finds what the first committed.
"""

from dataclasses import dataclass

import pyarrow.fs as pafs

from repair.following import Follower, Step
from repair.loading import Loader
from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.table import Index, Store, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta import DeltaStore
from scrub.stores.delta_entries import entry_schema
from scrub.stores.delta_log import list_log, openable
from scrub.stores.delta_marks import STATE, TABLE_ID, BuildState, build_state, followed_version
from scrub.stores.delta_snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.locations import is_local, join, open_filesystem


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """What the log of an index says; nothing of it if there is no relation."""

    exists: bool
    state: BuildState | None = None
    built_here: bool = False  # its log says so
    shown: int | None = None  # the version of the table that it shows
    entries: int | None = None


@dataclass(slots=True, kw_only=True)
class DeltaBuild:
    """The build of one index."""

    table: Table
    index: Index
    tables: Store
    indexes: Store
    session: SessionProvider

    def look(self) -> IndexState:
        """How far the index has come; reads the log only."""
        store = DeltaStore(self.indexes)
        log = list_log(join(store.root, self.index.relation), store.options)
        if log is None or not (log.commits or log.checkpoints):
            return IndexState(exists=False)
        with open_snapshot(store.root, self.index.relation, store.options) as snapshot:
            return IndexState(
                exists=True,
                state=build_state(snapshot),
                built_here=STATE in snapshot.configuration,
                shown=followed_version(snapshot, self.table.relation),
                entries=int(snapshot.table.count()),
            )

    def create(self) -> None:
        """Make the relation, empty and marked as being built; one that is there is left alone."""
        from deltalake import DeltaTable
        from deltalake.exceptions import CommitFailedError, DeltaError

        found = self.look()
        if found.exists:
            self._require_ours(found)
            return
        store, follower = DeltaStore(self.indexes), self.follower()
        uri = join(store.root, self.index.relation)
        if is_local(uri):
            pafs.LocalFileSystem().create_dir(join(uri, "_delta_log"))
        try:
            with openable(uri) as location:
                DeltaTable.create(
                    location,
                    entry_schema(follower.shape.columns),
                    configuration={STATE: BuildState.BUILDING.value, TABLE_ID: self._table_id()},
                    storage_options=store.options or None,
                    raise_if_key_not_exists=False,
                )
        except CommitFailedError:
            self._require_ours(self.look())  # another build was first
        except DeltaError as error:
            text = next(iter(str(error).splitlines()), "")
            if not self.look().exists:
                raise StoreUnavailable(f"{uri} cannot be made: {text}") from error

    def load(self, version: int) -> Step | None:
        """Fill the index with a version of the table; None if another build has done so."""

        def is_empty(snapshot: DeltaSnapshot) -> bool:
            return followed_version(snapshot, self.table.relation) is None

        done = self._loader().load(version, is_empty)
        return None if done is None else Step(version=version, added=done[1], loaded=True)

    def follower(self) -> Follower:
        """What keeps the index in step with the table, by a new load where that costs less."""
        follower = Follower(
            table=self.table,
            index=self.index,
            tables=self.tables,
            indexes=self.indexes,
            session=self.session,
        )
        follower.reload = self._reload
        return follower

    def publish(self) -> None:
        """Say in the log that readers may use the index."""
        from deltalake.exceptions import CommitFailedError

        store = DeltaStore(self.indexes)
        for attempt in range(10):
            with open_snapshot(store.root, self.index.relation, store.options) as snapshot:
                if build_state(snapshot) is BuildState.PUBLIC:
                    return
                try:
                    snapshot.table.alter.set_table_properties(
                        {STATE: BuildState.PUBLIC.value}, raise_if_not_exists=False
                    )
                except CommitFailedError:
                    if attempt == 9:  # noqa: PLR2004 - the last one
                        raise
                else:
                    return

    def remove(self) -> bool:
        """Delete the relation; its log first, so that half of it is never taken for an index."""
        store = DeltaStore(self.indexes)
        filesystem, path = open_filesystem(join(store.root, self.index.relation), store.options)
        if filesystem.get_file_info(path).type != pafs.FileType.Directory:
            return False
        log = f"{path}/_delta_log"
        if filesystem.get_file_info(log).type == pafs.FileType.Directory:
            filesystem.delete_dir(log)
        filesystem.delete_dir(path)
        return True

    def table_version(self) -> int:
        store = DeltaStore(self.tables)
        with open_snapshot(store.root, self.table.relation, store.options) as snapshot:
            return snapshot.version

    def _reload(self, version: int) -> Step | None:
        store = DeltaStore(self.indexes)
        with open_snapshot(store.root, self.index.relation, store.options) as snapshot:
            before = followed_version(snapshot, self.table.relation)

        def shows_no_later(snapshot: DeltaSnapshot) -> bool:
            return followed_version(snapshot, self.table.relation) == before

        done = self._loader().load(version, shows_no_later)
        if done is None:
            return None  # another follower was here
        return Step(version=version, taken=done[0], added=done[1], loaded=True)

    def _loader(self) -> Loader:
        follower = self.follower()
        _ = follower.shape  # resolves the types of expressions
        return Loader(
            table=self.table,
            index=follower.index,
            tables=self.tables,
            indexes=self.indexes,
            session=self.session,
        )

    def _table_id(self) -> str:
        store = DeltaStore(self.tables)
        with open_snapshot(store.root, self.table.relation, store.options) as snapshot:
            return str(snapshot.table.metadata().id)

    def _require_ours(self, found: IndexState) -> None:
        if not found.built_here:
            raise UsageError(
                f"index {self.index.name}: the relation {self.index.relation} is there already, "
                "and scrub did not build it",
                hint=f"have it follow (scrub index follow {self.table.name} {self.index.name} "
                "--from VERSION), or remove it",
            )
        if found.state is BuildState.PUBLIC:
            raise RelationMismatch(
                f"index {self.index.name} ({self.index.relation}) is built and public",
                hint="drop it to build it anew",
            )
