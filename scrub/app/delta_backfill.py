# SPDX-License-Identifier: Apache-2.0
"""The verbs of a backfill for tables in Delta, where an index follows the versions of its table."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrub.app import backfill_delta
from scrub.app.backfill_delta import DeltaIndexStatus, DeltaState
from scrub.app.backfill_verdict import why_not
from scrub.errors import UsageError
from scrub.model.backfill import CANCELLED, DROPPED, BackfillPlan, BackfillRequest, BackfillStatus
from scrub.model.build import State
from scrub.model.progress import ProgressListener
from scrub.model.table import Index, Store, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

_STATES = {
    DeltaState.ABSENT: State.REVERSED,
    DeltaState.LOADING: State.BACKFILLING,
    DeltaState.FOLLOWING: State.VALIDATING,
    DeltaState.PUBLIC: State.PUBLIC,
    DeltaState.REMOVING: State.REVERSING,
}

_ENDED = (State.PUBLIC, State.REVERSED)


@dataclass(frozen=True, slots=True)
class DeltaBackfill:
    """The indexes of one table in a lake."""

    store: Store
    table: Table
    indexes: tuple[Index, ...]
    request: BackfillRequest

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(index.name for index in self.indexes)

    def plan(self) -> BackfillPlan:
        """What `run` would do; refused is what it would refuse."""
        self._demand_no_pace()
        backfill_delta.require_room(self.request.catalog, self.table.name, self._names)
        made = [f"create the Delta table {index.relation}" for index in self.indexes]
        return BackfillPlan(
            table=self.table.name,
            indexes=self._names,
            method=None,
            rows=None,
            steps=(
                *made,
                "load the present version of the table",
                "follow what was committed meanwhile",
                "check every entry against the table, and publish only if all is well",
            ),
        )

    def run(
        self,
        session: "Callable[[], SparkSession]",
        gate: "Callable[[Sequence[str]], str | None]",  # noqa: ARG002 - a build has its own
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        """Build, or go on: a build that was cut off is found in the index's own log."""
        self._demand_no_pace()
        results = backfill_delta.build(
            self.request.catalog,
            self.table.name,
            self._names,
            spark=session(),
            on_progress=on_progress,
        )
        reasons = [reason for result in results if (reason := why_not(result.check))]
        return BackfillStatus(
            table=self.table.name,
            indexes=self._names,
            state=State.VALIDATING if reasons else State.PUBLIC,
            entries=sum(result.entries for result in results),
            failure="\n".join(reasons) or None,
            shown_version=results[0].shown,
            table_version=self.status()[0].table_version,
        )

    def resume(
        self,
        session: "Callable[[], SparkSession]",
        gate: "Callable[[Sequence[str]], str | None]",
        on_progress: ProgressListener,
    ) -> BackfillStatus:
        unfinished = [
            found.indexes[0]
            for found in self.status()
            if found.state in (State.BACKFILLING, State.VALIDATING)
        ]
        if not unfinished:
            raise _nothing_under_way(self.table)
        indexes = tuple(index for index in self.indexes if index.name in unfinished)
        going_on = DeltaBackfill(self.store, self.table, indexes, self.request)
        return going_on.run(session, gate, on_progress)

    def cancel(self, on_progress: ProgressListener) -> BackfillStatus:  # noqa: ARG002 - it is quick
        names = tuple(found.indexes[0] for found in self.to_cancel())
        backfill_delta.cancel(self.request.catalog, self.table.name, names)
        return replace(self._removed(CANCELLED), indexes=names)

    def drop(self, on_progress: ProgressListener) -> BackfillStatus:  # noqa: ARG002 - it is quick
        self.to_drop()
        backfill_delta.drop(self.request.catalog, self.table.name, self._names)
        return self._removed(DROPPED)

    def to_cancel(self) -> list[BackfillStatus]:
        """What `cancel` would take back; refused is what it would refuse."""
        found = self.status()
        if not self.request.indexes:
            found = [one for one in found if one.state not in _ENDED]
        names = self.request.indexes or tuple(one.indexes[0] for one in found)
        if names:
            backfill_delta.require_removable(self.request.catalog, self.table.name, names)
        if not found or any(one.state is State.REVERSED for one in found):
            raise _nothing_under_way(self.table)
        return found

    def to_drop(self) -> list[BackfillStatus]:
        """What `drop` would remove; refused is what it would refuse."""
        backfill_delta.require_removable(
            self.request.catalog, self.table.name, self._names, public_too=True
        )
        found = self.status()
        if any(one.state is State.REVERSED for one in found):
            raise UsageError(
                f"index {self._names[0]} of table {self.table.name} is not there",
                hint=f"scrub backfill status {self.table.name} shows what there is",
            )
        return found

    def renew(self, on_progress: ProgressListener) -> list[BackfillStatus]:  # noqa: ARG002
        """Refused: an index that follows its table has no functions in any database."""
        return self.to_renew()

    def to_renew(self) -> list[BackfillStatus]:
        raise UsageError(
            f"indexes of table {self.table.name} follow it from outside, so there are no functions "
            "to be made anew",
            hint=f"scrub backfill status {self.table.name} shows what there is",
        )

    def _demand_no_pace(self) -> None:
        """Refuse what only builds in a database heed, rather than pass over it in silence."""
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

    def adjust(self, **values: object) -> BackfillStatus:
        raise UsageError(
            f"table {self.table.name} is in Delta, where builds have no pace to adjust: nobody "
            f"waits for them ({', '.join(values)})"
        )

    def status(self) -> list[BackfillStatus]:
        found = backfill_delta.status(self.request.catalog, self.table.name, self._names)
        return [self._status(one) for one in found if one.state is not DeltaState.UNKNOWN]

    def _status(self, found: DeltaIndexStatus) -> BackfillStatus:
        return BackfillStatus(
            table=self.table.name,
            indexes=(found.index,),
            state=_STATES[found.state],
            entries=found.entries or 0,
            shown_version=found.shown,
            table_version=found.table_version,
        )

    def _removed(self, reason: str) -> BackfillStatus:
        return BackfillStatus(
            table=self.table.name, indexes=self._names, state=State.REVERSED, failure=reason
        )


def _nothing_under_way(table: Table) -> UsageError:
    return UsageError(
        f"no build of table {table.name} is under way",
        hint=f"scrub backfill status {table.name} shows what there is",
    )
