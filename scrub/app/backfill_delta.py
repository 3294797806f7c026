# SPDX-License-Identifier: Apache-2.0
"""Building indexes of Delta tables while the tables are written to.

Load a version, follow until caught up, check, publish. The check is the gate: an index is marked as
being built until it was found clean, and a defective one is never published.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.check_tables import run_check
from scrub.app.delta_selection import Session, build_of, lazy_session, select
from scrub.errors import UsageError
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from repair.delta_build import DeltaBuild, IndexState

_LAG_MAX = 0  # versions behind before the gate; writers may commit while it runs
_ROUNDS_MAX = 5


class DeltaState(StrEnum):
    """How far the build of an index in Delta has come."""

    ABSENT = "absent"  # there is no relation
    LOADING = "loading"  # the relation is there; nothing is in it yet
    FOLLOWING = "following"  # it shows some version, and is not published
    PUBLIC = "public"
    REMOVING = "removing"  # cancelled or dropped, and not yet gone: do so again
    UNKNOWN = "unknown"  # a relation that scrub did not build


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaIndexStatus:
    """What can be told of an index from its log and the table's."""

    table: str
    index: str
    relation: str
    state: DeltaState
    shown: int | None = None  # the version of the table that it shows
    table_version: int | None = None
    entries: int | None = None

    @property
    def lag(self) -> int | None:
        if self.shown is None or self.table_version is None:
            return None
        return self.table_version - self.shown


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaBuildResult:
    """How the build of one index ended."""

    index: str
    published: bool
    shown: int  # the version of the table that was compared
    entries: int
    loaded: bool  # False: an earlier run had loaded it
    versions_followed: int
    check: RunResult  # what the gate found; names the rows of every defect
    seconds: float


def build(
    catalog: Path | str,
    table: str,
    indexes: Sequence[str],
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> tuple[DeltaBuildResult, ...]:
    """Build indexes, or go on with builds that were cut off; each is published once it is clean.

    An index that the gate finds defective (two rows that share a unique key, say) stays as it is,
    unpublished: correct the table and run the same again, or cancel.
    """
    path = Path(catalog)
    _, chosen, _ = select(path, table, indexes)
    if not indexes:
        raise UsageError(f"say which index of {chosen.name} to build")
    with lazy_session(spark, spark_options, on_progress) as session:
        builds = _builds(path, table, indexes, session)
        for one in builds:
            one.create()
        return tuple(_build(path, one, session, spark_options, on_progress) for one in builds)


def status(
    catalog: Path | str, table: str, indexes: Sequence[str] = ()
) -> tuple[DeltaIndexStatus, ...]:
    """How far indexes are; reads logs only, so it can be asked at any time, from anywhere."""
    builds = _builds(Path(catalog), table, indexes, _no_session)
    return tuple(_status(one) for one in builds)


def require_room(catalog: Path | str, table: str, indexes: Sequence[str]) -> None:
    """Refuse what `build` would refuse before it writes anything; reads logs only."""
    for one in _builds(Path(catalog), table, indexes, _no_session):
        one.require_room()


def require_removable(
    catalog: Path | str, table: str, indexes: Sequence[str], *, public_too: bool = False
) -> None:
    """Refuse what `cancel` would refuse, or with `public_too` what `drop` would; reads logs."""
    _demand_removable(_builds(Path(catalog), table, indexes, _no_session), public_too)


def cancel(catalog: Path | str, table: str, indexes: Sequence[str]) -> tuple[str, ...]:
    """Remove indexes that are being built; a public one is left alone, and named in an error."""
    return _remove(catalog, table, indexes, public_too=False)


def drop(catalog: Path | str, table: str, indexes: Sequence[str]) -> tuple[str, ...]:
    """Remove indexes that scrub built, public ones too."""
    return _remove(catalog, table, indexes, public_too=True)


def _build(
    catalog: Path,
    build: "DeltaBuild",
    session: Session,
    spark_options: SparkOptions | None,
    on_progress: ProgressListener,
) -> DeltaBuildResult:
    began = time.monotonic()
    loaded = False
    if build.look().shown is None:
        on_progress(Progress(phase=f"loading {build.index.name}"))
        loaded = build.load(build.table_version()) is not None
    followed = 0
    follower = build.follower()
    for _ in range(_ROUNDS_MAX):
        on_progress(Progress(phase=f"following {build.table.name} with {build.index.name}"))
        caught_up = follower.catch_up(lambda _: None)
        followed += caught_up.version - caught_up.first
        if build.table_version() - caught_up.version <= _LAG_MAX:
            break
    request = CheckRequest(
        catalog=catalog,
        tables=(build.table.name,),
        indexes=(f"{build.table.name}.{build.index.name}",),
        checks=("index",),
        fresh=True,
        being_built=True,
    )
    on_progress(Progress(phase=f"checking {build.index.name}"))
    result = run_check(
        request, spark=session(), spark_options=spark_options, on_progress=on_progress
    )
    clean = result.status is Status.CLEAN
    if clean:
        build.publish()
    state = build.look()
    return DeltaBuildResult(
        index=build.index.name,
        published=clean,
        shown=state.shown or 0,
        entries=state.entries or 0,
        loaded=loaded,
        versions_followed=followed,
        check=result,
        seconds=time.monotonic() - began,
    )


def _status(build: "DeltaBuild") -> DeltaIndexStatus:
    found = build.look()
    return DeltaIndexStatus(
        table=build.table.name,
        index=build.index.name,
        relation=build.index.relation,
        state=_state(found),
        shown=found.shown,
        table_version=build.table_version(),
        entries=found.entries,
    )


def _state(found: "IndexState") -> DeltaState:
    from scrub.stores.delta_marks import BuildState

    if not found.exists:
        return DeltaState.ABSENT
    if not found.built_here:
        return DeltaState.UNKNOWN
    if found.state is BuildState.PUBLIC:
        return DeltaState.PUBLIC
    if found.state is BuildState.REMOVING:
        return DeltaState.REMOVING
    return DeltaState.LOADING if found.shown is None else DeltaState.FOLLOWING


def _remove(
    catalog: Path | str, table: str, indexes: Sequence[str], *, public_too: bool
) -> tuple[str, ...]:
    if not indexes:
        raise UsageError("say which index to remove")
    builds = _builds(Path(catalog), table, indexes, _no_session)
    _demand_removable(builds, public_too)  # all are looked at before one is touched
    return tuple(one.index.name for one in builds if one.remove())


def _demand_removable(builds: "Sequence[DeltaBuild]", public_too: bool) -> None:
    for one in builds:
        state = _state(one.look())
        if state is DeltaState.UNKNOWN:
            raise UsageError(
                f"index {one.index.name}: scrub did not build {one.index.relation}",
                hint="remove it by hand, if it is to go",
            )
        if state is DeltaState.PUBLIC and not public_too:
            raise UsageError(
                f"index {one.index.name} is public: there is no build to cancel",
                hint="if it is to go: "
                f"scrub backfill drop {one.table.name} {one.index.name} --execute",
            )


def _builds(path: Path, table: str, indexes: Sequence[str], session: Session) -> "list[DeltaBuild]":
    catalog, chosen, found = select(path, table, indexes)
    return [build_of(catalog, chosen, index, session) for index in found]


def _no_session() -> "SparkSession":
    raise AssertionError("logs are read without Spark")
