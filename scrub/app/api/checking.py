# SPDX-License-Identifier: Apache-2.0
"""`scrub check`, as a function."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.api.defects import CheckResult, with_tables
from scrub.app.api.given import (
    GivenAsOf,
    Names,
    as_of_each,
    demand_in_range,
    meant,
    names_of,
    pause_file_of,
    rate_of,
    spark_options_of,
)
from scrub.app.checking.tables import run_check
from scrub.app.selection import known_checks
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.whole_files import writable_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check(
    *tables: str,
    catalog: Path | str = "scrub.yaml",
    indexes: Names = (),
    constraints: Names = (),
    checks: Names = (),
    strategy: Strategy | str = Strategy.AUTO,
    engine: Engine | str = Engine.AUTO,
    as_of: GivenAsOf | Iterable[GivenAsOf] = (),
    where: str | None = None,
    settle_seconds: float | None = None,
    limit: int = 100,
    redact: bool = False,
    all_defects: Path | str | None = None,
    rows_per_second: int | None = None,
    bytes_per_second: int | str | None = None,
    pause_file: Path | str | None = None,
    fresh: bool = False,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str | float] | None = None,
    verbose: bool = False,
    spark: "SparkSession | None" = None,
    frames: "Mapping[str, DataFrame] | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> CheckResult:
    """Check tables (all of the catalog, if none is named); reads only.

    A session given, or else the active one, is borrowed and left running. A DataFrame in `frames`
    is read instead of the table or index that it is named after, and reported as unpinned.
    """
    demand_in_range(limit=limit, settle_seconds=settle_seconds, rows_per_second=rows_per_second)
    request = CheckRequest(
        catalog=Path(catalog),
        tables=tables,
        indexes=names_of(indexes),
        constraints=names_of(constraints),
        checks=known_checks(names_of(checks), "checks"),
        strategy=meant("strategy", Strategy, strategy),
        engine=meant("engine", Engine, engine),
        as_of=meant("as_of", as_of_each, as_of),
        where=where,
        settle_seconds=settle_seconds,
        limit=limit,
        redact=redact,
        all_defects=meant("all_defects", writable_file, Path(all_defects)) if all_defects else None,
        rows_per_second=rows_per_second,
        bytes_per_second=rate_of(bytes_per_second),
        pause_file=pause_file_of(pause_file),
        fresh=fresh,
    )
    options = spark_options_of(master, remote, conf, verbose)
    result = run_check(
        request, spark=spark, spark_options=options, on_progress=on_progress, frames=frames
    )
    return with_tables(result, redact=redact)
