# SPDX-License-Identifier: Apache-2.0
"""Building indexes of tables in Delta, where an index follows the versions of its table.

A build loads one version of the table, follows until it has caught up, and publishes through the
gate. Each index is built on its own, and everything that is known of its build is in its log. An
index that the gate refuses stays unpublished: correct the table and run again, or cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from repair.publishing import publish_if_clean
from scrub.app.building.delta_selection import build_of, delta_indexes
from scrub.app.building.table_builder import TableBuilder
from scrub.errors import UsageError
from scrub.model.backfill import (
    CANCELLED,
    DROPPED,
    BackfillPlan,
    BackfillResult,
    BackfillStatus,
)
from scrub.model.build import State
from scrub.model.command_line import backfill_line
from scrub.model.progress import Progress
from scrub.stores.base import SessionProvider, no_session
from scrub.stores.building import Gate, Refused, Unchecked

if TYPE_CHECKING:
    from scrub.stores.delta.building import DeltaBuild

_ROUNDS_MAX = 5  # of catching up before the gate: writers may commit meanwhile
_UNDER_WAY = (State.BACKFILLING, State.VALIDATING, State.REVERSING)


@dataclass(frozen=True, slots=True)
class DeltaBuilder(TableBuilder):
    """Builds indexes of one table in a lake."""

    def plan(self) -> BackfillPlan:
        self._demand_no_pace()
        for build in self._builds():
            build.require_room()
        made = [f"create the Delta table {index.relation}" for index in self.indexes]
        return BackfillPlan(
            table=self.table.name,
            indexes=tuple(index.name for index in self.indexes),
            method=None,
            rows=None,
            steps=(
                *made,
                "load the present version of the table",
                "follow commits made during the load",
                "check every entry against the table, and publish only if all is well",
            ),
        )

    def run(self, session: SessionProvider, gate: Gate) -> BackfillResult:
        """Build, or go on: the log of an index says how far an earlier run came."""
        self._demand_no_pace()
        builds = self._builds(session)
        for build in builds:
            build.create()
        unchecked: list[str] = []
        statuses = [self._build(build, gate, unchecked) for build in builds]
        return BackfillResult(builds=tuple(statuses), unchecked=tuple(unchecked))

    def resume(self, session: SessionProvider, gate: Gate) -> BackfillResult:
        going_on = (State.BACKFILLING, State.VALIDATING)
        unfinished = {build.index.name for build in self._in_state(*going_on)}
        if not unfinished:
            raise self._nothing_under_way
        indexes = tuple(index for index in self.indexes if index.name in unfinished)
        return replace(self, indexes=indexes).run(session, gate)

    def cancel(self) -> list[BackfillStatus]:
        return [_removed(build, CANCELLED) for build in self._cancelled()]

    def to_cancel(self) -> list[BackfillStatus]:
        return [_status(build) for build in self._cancelled()]

    def drop(self) -> list[BackfillStatus]:
        return [_removed(build, DROPPED) for build in self._dropped()]

    def to_drop(self) -> list[BackfillStatus]:
        return [_status(build) for build in self._dropped()]

    def renew(self) -> list[BackfillStatus]:
        return self.to_renew()

    def to_renew(self) -> list[BackfillStatus]:
        """Refused: an index that follows its table has no functions in any database."""
        raise UsageError(
            f"indexes of table {self.table.name} are in Delta, which has no trigger functions to "
            "renew",
            hint=self.see_status,
        )

    def adjust(self, **values: object) -> BackfillStatus:
        raise UsageError(
            f"table {self.table.name} is in Delta, where builds have no pace to adjust: nobody "
            f"waits for them ({', '.join(values)})"
        )

    def status(self) -> list[BackfillStatus]:
        """Read from logs only, so it can be asked for at any time; not for what others made."""
        return [_status(build) for build in self._builds() if build.look().progress is not None]

    def _builds(self, session: SessionProvider = no_session) -> "list[DeltaBuild]":
        names = [index.name for index in self.indexes]
        found = delta_indexes(self.catalog, self.table, names)
        return [build_of(self.catalog, self.table, index, session) for index in found]

    def _in_state(self, *states: State) -> "list[DeltaBuild]":
        return [build for build in self._builds() if build.look().progress in states]

    def _build(self, build: "DeltaBuild", gate: Gate, unchecked: list[str]) -> BackfillStatus:
        """Build one index; a refusal is a part of its status, and keeps no other index back."""
        name = build.index.name
        if build.look().shown is None:
            self.on_progress(Progress(phase=f"loading {name}"))
            build.load(build.table_version())
        self._catch_up(build)
        self.on_progress(Progress(phase=f"checking {name}"))
        failure = None
        try:
            publish_if_clean(lambda: gate([name]), build.publish)
        except (Refused, Unchecked) as error:
            failure = str(error)
            unchecked += [name] if isinstance(error, Unchecked) else []
        return replace(_status(build), failure=failure)

    def _catch_up(self, build: "DeltaBuild") -> None:
        follower = build.follower()
        for _ in range(_ROUNDS_MAX):
            phase = f"following {self.table.name} with {build.index.name}"
            self.on_progress(Progress(phase=phase))
            if follower.catch_up(lambda _: None).version >= build.table_version():
                return

    def _cancelled(self) -> "Sequence[DeltaBuild]":
        """The builds that `cancel` removes: those named, or all under way."""
        builds = self._builds() if self.request.indexes else self._in_state(*_UNDER_WAY)
        for build in builds:
            if _require_ours(build) is State.PUBLIC:
                raise UsageError(
                    f"index {build.index.name} is public: there is no build to cancel",
                    hint="if it is to go: "
                    + backfill_line("drop", self.table, build.index.name, "--execute"),
                )
        if not builds or any(build.look().progress is State.REVERSED for build in builds):
            raise self._nothing_under_way
        return builds

    def _dropped(self) -> "Sequence[DeltaBuild]":
        """The indexes that `drop` removes: those that scrub built, public ones too."""
        builds = self._builds()
        for build in builds:
            if _require_ours(build) is State.REVERSED:
                raise UsageError(
                    f"index {build.index.name} of table {self.table.name} is not there",
                    hint=self.see_status,
                )
        return builds

    def _demand_no_pace(self) -> None:
        """Refuse options that only builds in a database heed, rather than ignore them."""
        given = {
            f"--method {self.request.method}": self.request.method is not None,
            "--rows-per-second": self.request.rows_per_second is not None,
            "--chunk-seconds": self.request.chunk_seconds is not None,
            "--pause-file": self.request.pause_file is not None,
            "--owner": self.request.owner is not None,
        }
        if unheeded := [option for option, is_given in given.items() if is_given]:
            raise UsageError(
                f"table {self.table.name} is in Delta, where nobody waits for a build, so there is "
                f"no {', '.join(unheeded)}",
                hint="leave it out",
            )

    @property
    def _nothing_under_way(self) -> UsageError:
        return UsageError(
            f"no build of table {self.table.name} is under way",
            hint=self.see_status,
        )


def _status(build: "DeltaBuild") -> BackfillStatus:
    found = build.look()
    assert found.progress is not None, "scrub built it"
    return BackfillStatus(
        table=build.table.name,
        indexes=(build.index.name,),
        state=found.progress,
        entries=found.entries or 0,
        shown_version=found.shown,
        table_version=build.table_version(),
    )


def _removed(build: "DeltaBuild", reason: str) -> BackfillStatus:
    build.remove()
    return BackfillStatus(
        table=build.table.name,
        indexes=(build.index.name,),
        state=State.REVERSED,
        failure=reason,
    )


def _require_ours(build: "DeltaBuild") -> State:
    """How far a build has come; refuses a relation that scrub did not build."""
    progress = build.look().progress
    if progress is None:
        raise UsageError(
            f"index {build.index.name}: scrub did not build {build.index.relation}",
            hint="remove it by hand, if it is to go",
        )
    return progress
