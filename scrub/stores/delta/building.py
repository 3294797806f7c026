# SPDX-License-Identifier: Apache-2.0
"""Building an index in Delta: make its relation, load a version of the table, follow, publish.

Everything a build knows is in the log of the index itself: a property says that it is being built,
a transaction says which version of the table it shows. A build that was killed is continued by
reading that log, and two builds of one index do no harm: the second finds what the first committed.
"""

from dataclasses import dataclass

import pyarrow.fs as pafs

from scrub.errors import RelationMismatch, StoreUnavailable, UsageError, first_line
from scrub.model.build import State
from scrub.model.command_line import backfill_line, follow_line
from scrub.model.table import Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.building import Clash
from scrub.stores.delta.commit import COMMIT_KEY
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.entry_making import with_types
from scrub.stores.delta.following import FollowedVersion, Follower
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.loading import Loader
from scrub.stores.delta.log import LogFiles, list_log, openable
from scrub.stores.delta.marks import STATE, TABLE_ID, BuildState, build_state, followed_version
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.locations import is_local, join, open_filesystem

LOG = "_delta_log"
_ATTEMPTS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """What the log of an index says; nothing if there is no relation."""

    exists: bool
    state: BuildState | None = None
    built_here: bool = False  # its log says so
    shown: int | None = None  # the version of the table that it shows
    entries: int | None = None

    @property
    def progress(self) -> State | None:
        """How far the build has come; None: scrub did not build the relation."""
        if not self.exists:
            return State.REVERSED
        if not self.built_here:
            return None
        if self.state is BuildState.BUILDING:
            return State.BACKFILLING if self.shown is None else State.VALIDATING
        return State.PUBLIC if self.state is BuildState.PUBLIC else State.REVERSING


@dataclass(slots=True, kw_only=True)
class DeltaBuild:
    """The build of one index."""

    table: Table
    index: Index
    lake: Lake
    session: SessionProvider

    def look(self) -> IndexState:
        """How far the index has come; reads the log only."""
        log = list_log(*self.lake.place(self.index))
        if log is None or not (log.commits or log.checkpoints):
            return IndexState(exists=False)
        if not log.versions:
            return self._remains(log)
        with self.lake.latest(self.index) as snapshot:
            return IndexState(
                exists=True,
                state=build_state(snapshot),
                built_here=STATE in snapshot.configuration,
                shown=followed_version(snapshot, self.table.relation),
                entries=int(snapshot.table.count()),
            )

    def require_room(self) -> None:
        """Refuse a relation of the index's name that scrub did not build."""
        found = self.look()
        if found.exists:
            self._require_ours(found)

    def create(self) -> None:
        """Make the relation, empty and marked as being built; one that is there is left alone."""
        from deltalake import DeltaTable
        from deltalake.exceptions import CommitFailedError, DeltaError

        found = self.look()
        if found.exists:
            self._require_ours(found)
            return
        shape = self.follower().shape
        uri, options = self.lake.place(self.index)
        with self.lake.latest(self.table) as snapshot:
            table_id = snapshot.id
        if is_local(uri):
            pafs.LocalFileSystem().create_dir(join(uri, LOG))
        try:
            with openable(uri) as location:
                DeltaTable.create(
                    location,
                    entry_schema(shape.columns),
                    configuration={STATE: BuildState.BUILDING.value, TABLE_ID: table_id},
                    storage_options=dict(options) or None,
                    raise_if_key_not_exists=False,
                )
        except CommitFailedError:
            self._require_ours(self.look())  # another build was first
        except DeltaError as error:
            if not self.look().exists:
                raise StoreUnavailable(f"{uri} cannot be created: {first_line(error)}") from error

    def load(self, version: int) -> FollowedVersion | None:
        """Fill the index with a version of the table; None if another build has done so."""
        return self._load(version, instead_of=None)

    def follower(self) -> Follower:
        """What keeps the index in step with the table, by a new load where that costs less."""
        return Follower(self.table, self.index, self.lake, self.session, self._reload)

    def publish(self) -> tuple[Clash, ...]:
        """Say in the log that readers may use the index; the gate has found rows that clash."""
        self._set_state(BuildState.PUBLIC, instead_of=BuildState.BUILDING)
        return ()

    def remove(self) -> bool:
        """Delete the relation, data first; the log says to the last that it is being removed."""
        found = self.look()
        if not (found.exists and found.built_here):
            return False
        if found.state is not BuildState.REMOVING:
            self._set_state(BuildState.REMOVING)
        filesystem, path = open_filesystem(*self.lake.place(self.index))
        for info in filesystem.get_file_info(pafs.FileSelector(path)):
            if info.type == pafs.FileType.File:
                filesystem.delete_file(info.path)
            elif info.base_name != LOG:
                filesystem.delete_dir(info.path)
        inside = filesystem.get_file_info(pafs.FileSelector(f"{path}/{LOG}", recursive=True))
        files = [info.path for info in inside if info.type == pafs.FileType.File]
        # First the pointer to a checkpoint, last the commit that says what happens here.
        for file in sorted(files, key=_turn):
            filesystem.delete_file(file)
        filesystem.delete_dir(path)
        return True

    def _set_state(self, state: BuildState, instead_of: BuildState | None = None) -> None:
        from deltalake.exceptions import CommitFailedError

        for _ in range(_ATTEMPTS_MAX):
            with self.lake.latest(self.index) as snapshot:
                now = build_state(snapshot)
                if now is state:
                    return
                if instead_of is not None and now is not instead_of:
                    raise RelationMismatch(f"index {self.index.name} is {now}, not {instead_of}")
                try:
                    snapshot.table.alter.set_table_properties(
                        {STATE: state.value}, raise_if_not_exists=False
                    )
                except CommitFailedError:
                    continue
                return
        raise StoreUnavailable(
            f"Delta table {self.index.relation}: others committed first, again and again"
        )

    def _remains(self, log: LogFiles) -> IndexState:
        """A log without a beginning: a removal was cut off, or a writer came after it."""
        filesystem, path = open_filesystem(log.uri, self.lake.place(self.index)[1])
        texts = []
        for version in log.commits:
            with filesystem.open_input_stream(f"{path}/{version:020}.json") as stream:
                texts.append(bytes(stream.read()).decode())
        removing = f'"{STATE}":"{BuildState.REMOVING.value}"'
        ours = any(removing in text for text in texts) or all(COMMIT_KEY in text for text in texts)
        return IndexState(exists=True, state=BuildState.REMOVING, built_here=ours)

    def table_version(self) -> int:
        with self.lake.latest(self.table) as snapshot:
            return snapshot.version

    def _reload(self, version: int) -> FollowedVersion | None:
        with self.lake.latest(self.index) as snapshot:
            before = followed_version(snapshot, self.table.relation)
        return self._load(version, instead_of=before)

    def _load(self, version: int, instead_of: int | None) -> FollowedVersion | None:
        """Load a version where the index shows another one, or none; None if it no longer does."""

        def is_as_it_was(snapshot: DeltaSnapshot) -> bool:
            return followed_version(snapshot, self.table.relation) == instead_of

        typed = with_types(self.table, self.index, self.session)
        done = Loader(self.table, typed, self.lake, self.session).load(version, is_as_it_was)
        if done is None:
            return None  # somebody else was here
        return FollowedVersion(version=version, taken=done[0], added=done[1], loaded=True)

    def _require_ours(self, found: IndexState) -> None:
        if not found.built_here:
            raise UsageError(
                f"index {self.index.name}: the relation {self.index.relation} already exists, "
                "and scrub did not build it",
                hint=f"remove it, or have it follow: {follow_line(self.table, self.index.name)}",
            )
        if found.state is BuildState.REMOVING:
            raise RelationMismatch(
                f"index {self.index.name} ({self.index.relation}) is being removed",
                hint="cancel it again, until it is gone: "
                + backfill_line("cancel", self.table, self.index.name, "--execute"),
            )
        if found.state is BuildState.PUBLIC:
            verify = backfill_line("verify", self.table, self.index.name)
            drop = backfill_line("drop", self.table, self.index.name, "--execute")
            raise RelationMismatch(
                f"index {self.index.name} ({self.index.relation}) is built and public",
                hint=f"check it with: {verify}; to rebuild it, first remove it with: {drop}",
            )


def _turn(file: str) -> tuple[int, str]:
    if file.endswith("_last_checkpoint"):
        return 0, file
    return 1 + file.endswith(".json"), file
