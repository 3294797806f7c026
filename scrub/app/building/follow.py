# SPDX-License-Identifier: Apache-2.0
"""Following a Delta table with its indexes: once, or at regular intervals."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.building.delta_selection import build_of, select
from scrub.app.lazy_spark import lazy_session
from scrub.errors import ScrubError, StoreUnavailable, UsageError
from scrub.model.command_line import DEFAULT_CATALOG, follow_line
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import SparkOptions
from scrub.stores.base import SessionProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scrub.stores.delta.building import DeltaBuild
    from scrub.stores.delta.following import Followed, FollowedVersion

IndexStepListener = Callable[[str, "FollowedVersion"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRequest:
    """One `scrub index follow`, as typed; no indexes means all that follow."""

    table: str
    indexes: tuple[str, ...] = ()
    catalog: Path = DEFAULT_CATALOG
    from_version: int | None = None  # what an index that does not follow yet shows now


@dataclass(slots=True, kw_only=True)
class FollowRound:
    """What one round did; an index that cannot follow does not hold up the others."""

    followed: "list[Followed]" = field(default_factory=list)
    refused: list[tuple[str, ScrubError]] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)  # not named, and following nothing

    @property
    def exit_code(self) -> int:
        """1 when an index was not what it should have been, 3 (or 2) when one was left behind."""
        if any(step.absent for one in self.followed for step in one.steps):
            return 1
        return max((error.exit_code for _, error in self.refused), default=0)


def follow_once(
    request: FollowRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
    on_step: IndexStepListener = lambda _, __: None,
) -> FollowRound:
    """Catch every index up with the latest version of the table."""
    with lazy_session(spark, spark_options, on_progress) as session:
        return _round(request, session, on_step)


def follow_always(
    request: FollowRequest,
    every_seconds: float,
    *,
    on_round: Callable[[FollowRound], None],
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
    on_step: IndexStepListener = lambda _, __: None,
    sleep: Callable[[float], None] = time.sleep,
) -> FollowRound:
    """Catch up, wait, and catch up again, until an index cannot be followed any more."""
    with lazy_session(spark, spark_options, on_progress) as session:
        while True:
            began = time.monotonic()
            done = _round(request, session, on_step)
            on_round(done)
            if any(_is_final(error) for _, error in done.refused):
                return done
            request = replace(request, from_version=None)
            sleep(max(every_seconds - (time.monotonic() - began), 0))


def _is_final(error: ScrubError) -> bool:
    """Whether trying again will not help; a store that does not answer now may do so later."""
    from scrub.stores.delta.changes import CannotFollow

    return isinstance(error, CannotFollow) or not isinstance(error, StoreUnavailable)


def _round(
    request: FollowRequest, session: SessionProvider, on_step: IndexStepListener
) -> FollowRound:
    catalog, table, indexes = select(request.catalog, request.table, request.indexes)
    if request.from_version is not None and not request.indexes:
        raise UsageError(
            "--from is for an index that does not follow yet: name it",
            hint=f"as in: {follow_line(table, version=str(request.from_version))}",
        )
    done = FollowRound()
    for index in indexes:
        build = build_of(catalog, table, index, session)
        if not request.indexes and build.look().shown is None:
            done.passed_over.append(index.name)
            continue
        try:
            done.followed.append(_follow(build, request.from_version, on_step))
        except ScrubError as error:
            done.refused.append((index.name, error))
    if not done.followed and not done.refused:
        raise UsageError(
            f"no index of {table.name} follows it",
            hint="build one (scrub backfill run), or name one and say which version it shows: "
            + follow_line(table),
        )
    return done


def _follow(
    build: "DeltaBuild", from_version: int | None, on_step: IndexStepListener
) -> "Followed":
    follower = build.follower()
    if from_version is not None:
        latest = build.table_version()
        if not 0 <= from_version <= latest:
            raise UsageError(
                f"--from {from_version}: {build.table.relation} has versions 0 to {latest}"
            )
        follower.adopt(from_version)
    return follower.catch_up(lambda step: on_step(build.index.name, step))
