# SPDX-License-Identifier: Apache-2.0
"""What PostgreSQL's records of a build say, as the status of a backfill."""

from scrub.app.building.watch import rows_a_second
from scrub.model.backfill import BackfillStatus
from scrub.model.build import State
from scrub.model.table import Table
from scrub.stores.building import LOAD
from scrub.stores.postgres.building.builds import Build
from scrub.stores.postgres.building.opening import ENDED, PostgresBuilds


def status_of(builds: PostgresBuilds, table: Table, record: Build) -> BackfillStatus:
    """The status of one build; while rows are loaded, this measures for a moment how fast."""
    runner = builds.holder(table) if record.state not in ENDED else None
    is_loading = runner and record.state is State.BACKFILLING and not record.paused
    rate = rows_a_second(builds, record) if is_loading else None
    ranges = builds.ranges(record)
    load = [of for of in ranges if of.phase == LOAD]
    waiting: tuple[str, ...] = ()
    if record.state not in (*ENDED, State.BACKFILLING, State.MERGING):
        waiting = tuple(b.description for b in builds.writers(table))
    standing = builds.standing(table, record) if _is_standing(table, record) else []
    return BackfillStatus(
        table=table.name,
        indexes=record.indexes,
        state=record.state,
        method=record.method,
        rows=sum(of.rows for of in load),
        rows_expected=record.rows_expected,
        entries=sum(of.entries for of in load),
        rows_a_second=rate,
        fast_chunks=sum(of.fast for of in load),
        slow_chunks=sum(of.slow for of in load),
        gave_way=sum(of.retried for of in ranges),
        conflicts=sum(of.conflicts for of in ranges),
        merged=sum(of.rows for of in ranges if of.phase != LOAD),
        rows_per_second=record.rows_per_second,
        paused=record.paused,
        runner=runner,
        failure=record.failure,
        started=record.started,
        changed=record.changed,
        waiting_for=waiting,
        to_renew=tuple(line for of in standing for line in of.to_renew),
        to_check=tuple(line for of in standing for line in of.to_check),
    )


def _is_standing(table: Table, record: Build) -> bool:
    """Whether the index is public, and the catalog still has it."""
    known = {index.name for index in table.indexes}
    return record.state is State.PUBLIC and set(record.indexes) <= known
