# SPDX-License-Identifier: Apache-2.0
"""Building indexes while their table is written to: one use case for each verb.

The store of the table decides how; whichever it is, an index becomes public through the gate only.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from scrub.app.building.delta import DeltaBuilder
from scrub.app.building.gate import CheckingGate, gate_request, strict_verdict
from scrub.app.building.postgres import PostgresBuilder
from scrub.app.checking.tables import run_check
from scrub.app.lazy_spark import lazy_session
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import UsageError
from scrub.model.backfill import BackfillPlan, BackfillRequest, BackfillResult, BackfillStatus
from scrub.model.command_line import backfill_line, check_line
from scrub.model.gate import Judged
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import SparkOptions
from scrub.model.table import Index, Table
from scrub.stores.building import IndexBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUILDERS: Mapping[str, Callable[..., IndexBuilder]] = {
    "postgres": PostgresBuilder,
    "delta": DeltaBuilder,
}
"""By kind of store; stores of other kinds are only read."""


def plan_backfill(request: BackfillRequest) -> BackfillPlan:
    """What building these indexes would do; nothing is changed."""
    return _builder_of(request).plan()


def run_backfill(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> BackfillResult:
    """Build indexes, check them, and publish those that are clean."""
    builder = _builder_of(request, on_progress=on_progress)
    with lazy_session(spark, spark_options, on_progress) as session:
        return builder.run(session, CheckingGate(request, spark, spark_options, on_progress))


def resume_backfill(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> BackfillResult:
    """Continue a build whose process ended."""
    builder = _builder_of(request, all_if_none=True, on_progress=on_progress)
    with lazy_session(spark, spark_options, on_progress) as session:
        return builder.resume(session, CheckingGate(request, spark, spark_options, on_progress))


def cancel_backfill(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> list[BackfillStatus]:
    """Remove a build, whoever runs it; writers are not disturbed."""
    return _builder_of(request, all_if_none=True, on_progress=on_progress).cancel()


def drop_index(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> list[BackfillStatus]:
    """Remove an index that scrub built, and what keeps it."""
    return _builder_of(request, on_progress=on_progress).drop()


def cancel_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `cancel_backfill` would remove; refuses what it would refuse, and reads only."""
    return _builder_of(request, all_if_none=True).to_cancel()


def drop_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `drop_index` would remove; refuses what it would refuse, and reads only."""
    return _builder_of(request).to_drop()


def renew_functions(
    request: BackfillRequest, *, on_progress: ProgressListener = ignore_progress
) -> list[BackfillStatus]:
    """Make again what keeps public indexes: for a table that was altered or restored."""
    return _builder_of(request, on_progress=on_progress).renew()


def renew_preview(request: BackfillRequest) -> list[BackfillStatus]:
    """What `renew_functions` would make again; refuses what it would refuse."""
    return _builder_of(request).to_renew()


def adjust_backfill(request: BackfillRequest, **values: object) -> BackfillStatus:
    """Change the pace of a build that runs (`rows_per_second`), or pause it (`paused`)."""
    return _builder_of(request, all_if_none=True).adjust(**values)


def backfill_status(request: BackfillRequest) -> list[BackfillStatus]:
    """How far builds of a table have come; reads only."""
    return _builder_of(request, all_if_none=True).status()


def verify_index(
    request: BackfillRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> Judged:
    """The check that precedes publishing, for an index that anybody built; reads only."""
    _, table = _table_of(request)
    names = [index.name for index in _indexes_of(table, request, all_if_none=False)]
    result = run_check(
        replace(
            gate_request(request, names),
            rows_per_second=request.rows_per_second,
            bytes_per_second=request.bytes_per_second,
            pause_file=request.pause_file,
        ),
        spark=spark,
        spark_options=spark_options,
        on_progress=on_progress,
    )
    return Judged(result=result, verdict=strict_verdict(result, table.name, names))


def _builder_of(
    request: BackfillRequest,
    all_if_none: bool = False,
    on_progress: ProgressListener = ignore_progress,
) -> IndexBuilder:
    catalog, table = _table_of(request)
    indexes = _indexes_of(table, request, all_if_none)
    store = catalog.stores[table.store]
    builder = _BUILDERS.get(store.kind)
    if builder is None:
        raise UsageError(
            f"table {table.name} is in store {store.name} of kind {store.kind}, which is only read",
            hint="build its indexes with whatever writes it, and gate that with: "
            + backfill_line("verify", table, "INDEX"),
        )
    return builder(catalog, request, table, indexes, on_progress)


def _table_of(request: BackfillRequest) -> tuple[Catalog, Table]:
    catalog = load_catalog(request.catalog)
    return catalog, catalog.table(request.table)


def _indexes_of(table: Table, request: BackfillRequest, all_if_none: bool) -> tuple[Index, ...]:
    known = {index.name: index for index in table.indexes if not index.is_own}
    if not request.indexes and all_if_none:
        return tuple(known.values())
    native = {index.name for index in table.indexes if index.is_own}
    for name in request.indexes:
        if name in native:
            raise UsageError(
                f"index {name} of {table.name} is one of the database's own, which it builds and "
                "keeps itself",
                hint=f"to check it: {check_line(table, '--index', name)}",
            )
        if name not in known:
            missing = f"describe it in {request.catalog}, under `indexes:` of {table.name}"
            raise UsageError(
                f"the catalog has no index {name} of {table.name}",
                hint=did_you_mean(name, known, "indexes") if known else missing,
            )
    return tuple(known[name] for name in dict.fromkeys(request.indexes))
