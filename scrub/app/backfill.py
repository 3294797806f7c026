# SPDX-License-Identifier: Apache-2.0
"""Building indexes while their table is written to: one use case for each verb.

Nothing is published before the index check has found it clean: that is the verification gate, which
`verify` offers for indexes that others built.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from scrub.app.backfill_postgres import Gate, PostgresBackfill
from scrub.app.backfill_verdict import NAMED_MAX, why_not
from scrub.app.check_tables import run_check
from scrub.app.delta_backfill import DeltaBackfill
from scrub.app.selection import near
from scrub.catalog import Catalog, load_catalog
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.backfill import BackfillPlan, BackfillRequest, BackfillStatus
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult, Status
from scrub.model.table import Index, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Backfill = PostgresBackfill | DeltaBackfill
"""Each kind of store that can be written to has the verbs in its own way."""


def plan_backfill(request: BackfillRequest) -> BackfillPlan:
    """What building these indexes would do; nothing is changed."""
    return _backfill_of(request).plan()


def run_backfill(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> BackfillStatus:
    """Build indexes, check them, publish them; or take everything back and say why."""
    backfill = _backfill_of(request)
    with _sessions(spark, spark_options, on_progress) as session:
        return backfill.run(session, _gate(backfill, session, on_progress), on_progress)


def resume_backfill(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> BackfillStatus:
    """Go on with a build whose process ended."""
    backfill = _backfill_of(request, all_if_none=True)
    with _sessions(spark, spark_options, on_progress) as session:
        return backfill.resume(session, _gate(backfill, session, on_progress), on_progress)


def cancel_backfill(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> BackfillStatus:
    """Take a build back, whoever runs it; writers go on undisturbed."""
    return _backfill_of(request, all_if_none=True).cancel(on_progress)


def drop_index(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> BackfillStatus:
    """Remove an index that scrub built, and what keeps it."""
    return _backfill_of(request).drop(on_progress)


def cancel_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `cancel_backfill` would take back; refuses what it would refuse, and reads only."""
    return _backfill_of(request, all_if_none=True).to_cancel()


def drop_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `drop_index` would remove; refuses what it would refuse, and reads only."""
    return _backfill_of(request).to_drop()


def renew_functions(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> list[BackfillStatus]:
    """Make anew what keeps indexes that are public: for a table that was altered or restored."""
    return _backfill_of(request).renew(on_progress)


def renew_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `renew_functions` would make anew; refuses what it would refuse."""
    return _backfill_of(request).to_renew()


def adjust_backfill(request: BackfillRequest, **values: object) -> BackfillStatus:
    """Change the pace of a build that runs (`rows_per_second`), or pause it (`paused`)."""
    return _backfill_of(request, all_if_none=True).adjust(**values)


def backfill_status(request: BackfillRequest) -> list[BackfillStatus]:
    """How far builds of a table have come; reads only."""
    return _backfill_of(request, all_if_none=True).status()


def verify_index(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> RunResult:
    """The check that precedes publishing, for an index that anybody built; reads only."""
    _, table = _table_of(request)
    indexes = _indexes_of(table, request, all_if_none=False)
    return run_check(
        CheckRequest(
            catalog=request.catalog,
            tables=(table.name,),
            indexes=tuple(index.name for index in indexes),
            fresh=True,
            being_built=True,
        ),
        spark=spark,
        spark_options=spark_options,
        on_progress=on_progress,
    )


def _gate(
    backfill: Backfill,
    session: "Callable[[], SparkSession]",
    on_progress: ProgressListener,
) -> Gate:
    """Checks the indexes that are about to be published; returns what is wrong."""

    def look(names: Sequence[str]) -> str | None:
        result = run_check(
            CheckRequest(
                catalog=backfill.request.catalog,
                tables=(backfill.table.name,),
                indexes=tuple(names),
                limit=NAMED_MAX,
                fresh=True,
            ),
            spark=session(),
            on_progress=on_progress,
        )
        reason = why_not(result)
        if result.status is not Status.DEFECTIVE and reason is not None:
            # Nothing is wrong with the index: whoever did not answer may answer next time.
            raise StoreUnavailable(reason)
        return reason

    return look


def _backfill_of(request: BackfillRequest, all_if_none: bool = False) -> Backfill:
    catalog, table = _table_of(request)
    indexes = _indexes_of(table, request, all_if_none)
    store = catalog.stores[table.store].in_time_zone(table.time_zone)
    elsewhere = [index.name for index in indexes if index.store != table.store]
    if elsewhere and store.kind == "postgres":
        raise UsageError(
            f"index {elsewhere[0]} is in another store than table {table.name}, so it cannot be "
            "kept in the same transaction",
            hint="leave `store:` out of the index",
        )
    match store.kind:
        case "postgres":
            return PostgresBackfill(store, table, indexes, request)
        case "delta":
            return DeltaBackfill(store, table, indexes, request)
    raise UsageError(
        f"table {table.name} is in store {store.name} of kind {store.kind}, which is only read",
        hint="build its indexes with whatever writes it, and gate that with "
        f"scrub backfill verify {table.name} INDEX",
    )


def _table_of(request: BackfillRequest) -> tuple[Catalog, Table]:
    catalog = load_catalog(request.catalog)
    if request.table not in catalog.tables:
        raise UsageError(
            f"the catalog has no table {request.table}", hint=near(request.table, catalog.tables)
        )
    return catalog, catalog.tables[request.table]


def _indexes_of(table: Table, request: BackfillRequest, all_if_none: bool) -> tuple[Index, ...]:
    known = {index.name: index for index in table.indexes if not index.native}
    if not request.indexes and all_if_none:
        return tuple(known.values())
    native = {index.name for index in table.indexes if index.native}
    for name in request.indexes:
        if name in native:
            raise UsageError(
                f"index {name} of {table.name} is one of the database's own, which it builds and "
                "keeps itself",
                hint=f"scrub check table {table.name} --index {name} checks it",
            )
        if name not in known:
            missing = f"describe it in {request.catalog}, under `indexes:` of {table.name}"
            raise UsageError(
                f"the catalog has no index {name} of {table.name}",
                hint=near(name, known) if known else missing,
            )
    return tuple(known[name] for name in dict.fromkeys(request.indexes))


@contextmanager
def _sessions(
    spark: "SparkSession | None",
    spark_options: SparkOptions | None,
    on_progress: ProgressListener,
) -> "Iterator[Callable[[], SparkSession]]":
    """Spark starts when the first chunk needs it."""
    with ExitStack() as stack:
        started: list[SparkSession] = []

        def session() -> "SparkSession":
            if not started:
                from scrub.spark.session import spark_session

                on_progress(Progress(phase="starting Spark"))
                options = spark_options or SparkOptions()
                started.append(stack.enter_context(spark_session(spark, options)))
            return started[0]

        yield session
