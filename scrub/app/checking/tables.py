# SPDX-License-Identifier: Apache-2.0
"""Checking tables against their indexes: from a request to a result."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from scrub.app.checking.all_defects import DefectListener, every_defect
from scrub.app.checking.given_frames import place_frames
from scrub.app.checking.spark_ahead import looks_small, surely_on_spark
from scrub.app.checking.state_directory import state_directory
from scrub.app.checking.table_errors import demand_a_look, raise_mistakes
from scrub.app.checking.zone_groups import by_time_zone, joined_plans, joined_results
from scrub.app.lazy_spark import LazySpark
from scrub.app.selection import select_tables
from scrub.catalog import Catalog, load_catalog
from scrub.model.definition import definition_of
from scrub.model.plan import CheckPlan
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.model.table import UTC as DEFAULT_ZONE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from checks.parts import JobSize
    from scrub.app.checking.preparation import Preparation

CatalogPlacing = Callable[[Catalog], Catalog]
"""Says of a catalog where its relations are read."""

SLEEP = time.sleep
"""How a run waits before it looks again."""


def _as_it_is(catalog: Catalog) -> Catalog:
    return catalog


def run_check(
    request: CheckRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
    job_size: "JobSize | None" = None,
    on_defect: DefectListener | None = None,
    frames: "Mapping[str, DataFrame] | None" = None,
    placed: CatalogPlacing = _as_it_is,
) -> RunResult:
    """Carry out a request and say what was found; reads only.

    `job_size` says how much one Spark job reads, and so how often finished work is kept;
    `on_defect` gets every defect, whatever the limit; `frames` are read in the place of tables and
    indexes, see `scrub.app.check`; `placed` may say where else something is read.
    """
    results: list[RunResult] = []
    with (
        _prepared(
            request, spark, spark_options, on_progress, frames, runs=True, placed=placed
        ) as preparations,
        every_defect(request, on_defect) as listener,
    ):
        for preparation in preparations:
            preparation.on_defect = listener
            preparation.leave_room(sum(len(result.defects) for result in results))
            results.append(preparation.run(job_size))
        errors = [error for preparation in preparations for error in preparation.errors]
        result = joined_results(results)
        demand_a_look(result, errors)
    tables = [table for preparation in preparations for table in preparation.tables]
    definitions = {table.name: definition_of(table) for table in tables}
    return replace(result, definitions=definitions, where=request.where)


def explain_check(
    request: CheckRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    frames: "Mapping[str, DataFrame] | None" = None,
) -> CheckPlan:
    """What a check would do; Spark is started only if a relation cannot be described without."""
    with _prepared(request, spark, spark_options, ignore_progress, frames) as preparations:
        plan = joined_plans([preparation.explained() for preparation in preparations])
    if not (plan.tables or plan.own_indexes):
        raise_mistakes(plan.errors)
    return plan


@contextmanager
def _prepared(
    request: CheckRequest,
    spark: "SparkSession | None",
    spark_options: SparkOptions | None,
    on_progress: ProgressListener,
    frames: "Mapping[str, DataFrame] | None",
    *,
    runs: bool = False,
    placed: CatalogPlacing = _as_it_is,
) -> "Iterator[list[Preparation]]":
    """A preparation for each time zone: in one session there can be but one."""
    catalog = placed(load_catalog(request.catalog, unset_allowed=True))
    tables = select_tables(catalog, request)  # mistakes are answered before Spark starts
    given = place_frames(catalog, tables, request, frames)
    catalog = given.catalog
    tables = tuple(catalog.table(table.name) for table in tables)
    zones = by_time_zone(tables) or {DEFAULT_ZONE: ()}
    run_id, kept_in = uuid.uuid4().hex[:12], state_directory()
    with ExitStack() as stack:
        options = spark_options or SparkOptions()
        lazy = LazySpark(
            given.session(spark),
            options,
            on_progress,
            stack,
            may_be_few=len(zones) == 1,
            keeps_zone=given.are_given,
        )
        if runs and surely_on_spark(request, catalog, tables, lazy):
            lazy.start_ahead(next(iter(zones)), looks_small(catalog, tables))
        # Its imports take as long as the JVM to start.
        from scrub.app.checking.preparation import Preparation

        yield [
            Preparation(
                request=request,
                catalog=catalog.in_time_zone(zone),
                tables=of_zone,
                time_zone=zone,
                spark=lazy,
                on_progress=on_progress,
                resources=stack,
                kept_in=kept_in,
                run_id=run_id,
                sleep=SLEEP,
                given=given,
            )
            for zone, of_zone in zones.items()
        ]
