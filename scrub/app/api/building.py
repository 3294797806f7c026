# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill run`, `scrub backfill verify` and `scrub index follow`, as functions."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.api.defects import Verified, verified
from scrub.app.api.given import (
    demand_in_range,
    meant,
    pause_file_of,
    rate_of,
    spark_options_of,
)
from scrub.app.building.follow import (
    FollowRequest,
    FollowRound,
    IndexStepListener,
    follow_always,
    follow_once,
)
from scrub.app.building.verbs import plan_backfill, run_backfill, verify_index
from scrub.errors import UsageError
from scrub.model.backfill import BackfillPlan, BackfillRequest, BackfillResult
from scrub.model.build import Method
from scrub.model.progress import ProgressListener, ignore_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def backfill(
    table: str,
    *indexes: str,
    catalog: Path | str = "scrub.yaml",
    method: Method | str | None = None,
    owner: str | None = None,
    rows_per_second: int | None = None,
    pause_file: Path | str | None = None,
    chunk_seconds: float | None = None,
    parallel: int = 2,
    wait_limit: float = 60.0,
    execute: bool = False,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str | float] | None = None,
    verbose: bool = False,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> BackfillPlan | BackfillResult:
    """What building indexes would do; with `execute`, build them, and publish those found clean."""
    demand_in_range(
        rows_per_second=rows_per_second,
        chunk_seconds=chunk_seconds,
        parallel=parallel,
        wait_limit=wait_limit,
    )
    request = BackfillRequest(
        table=table,
        indexes=_some(indexes),
        catalog=Path(catalog),
        method=meant("method", Method, method) if method else None,
        parallel=parallel,
        rows_per_second=rows_per_second,
        chunk_seconds=chunk_seconds,
        wait_limit=wait_limit,
        pause_file=pause_file_of(pause_file),
        owner=owner,
    )
    options = spark_options_of(master, remote, conf, verbose)
    if not execute:
        return plan_backfill(request)
    return run_backfill(request, spark=spark, spark_options=options, on_progress=on_progress)


def verify(
    table: str,
    *indexes: str,
    catalog: Path | str = "scrub.yaml",
    redact: bool = False,
    rows_per_second: int | None = None,
    bytes_per_second: int | str | None = None,
    pause_file: Path | str | None = None,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str | float] | None = None,
    verbose: bool = False,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> Verified:
    """The check that precedes publishing, whichever tool built the indexes; reads only."""
    demand_in_range(rows_per_second=rows_per_second)
    judged = verify_index(
        BackfillRequest(
            table=table,
            indexes=_some(indexes),
            catalog=Path(catalog),
            rows_per_second=rows_per_second,
            bytes_per_second=rate_of(bytes_per_second),
            pause_file=pause_file_of(pause_file),
        ),
        spark=spark,
        spark_options=spark_options_of(master, remote, conf, verbose),
        on_progress=on_progress,
    )
    return verified(judged, redact=redact)


def follow(
    table: str,
    *indexes: str,
    catalog: Path | str = "scrub.yaml",
    every: float | None = None,
    from_version: int | None = None,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str | float] | None = None,
    verbose: bool = False,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
    on_step: IndexStepListener = lambda _, __: None,
    on_round: Callable[[FollowRound], None] = lambda _: None,
) -> FollowRound:
    """Bring indexes in Delta up to the latest version of their table.

    With `every`, do so again at this interval of seconds, until an index can no longer be followed;
    `on_round` hears of each time, `on_step` of each version that was applied.
    """
    demand_in_range(from_version=from_version)
    if every is not None and not every > 0:
        raise UsageError(f"every is {every}, and must be more than 0")
    request = FollowRequest(
        table=table, indexes=indexes, catalog=Path(catalog), from_version=from_version
    )
    options = spark_options_of(master, remote, conf, verbose)
    if every is None:
        return follow_once(
            request, spark=spark, spark_options=options, on_progress=on_progress, on_step=on_step
        )
    return follow_always(
        request,
        every,
        spark=spark,
        spark_options=options,
        on_progress=on_progress,
        on_step=on_step,
        on_round=on_round,
    )


def _some(indexes: tuple[str, ...]) -> tuple[str, ...]:
    if not indexes:
        raise UsageError("name the indexes, after the table")
    return indexes
