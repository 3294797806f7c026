# SPDX-License-Identifier: Apache-2.0
"""scrub's own check of the generated lake, with its answer held against what was planted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from benchmarks import constrained_lake
from benchmarks.answers import demand
from benchmarks.constrained_lake import ConstrainedLake
from benchmarks.data import Lake, planted
from benchmarks.shapes import TABLE, IndexShape
from scrub.app.checking.tables import run_check
from scrub.model.request import CheckRequest, Engine, SparkOptions, Strategy
from scrub.model.result import RunResult
from scrub.spark.session import spark_session

CORES = 2
DRIVER_MEMORY = "4g"


@contextmanager
def session() -> Iterator[SparkSession]:
    """The Spark session that everything is measured in."""
    conf = (("spark.driver.memory", DRIVER_MEMORY),)
    with spark_session(None, SparkOptions(master=f"local[{CORES}]", conf=conf)) as spark:
        yield spark


def check(
    spark: SparkSession,
    lake: Lake,
    indexes: Sequence[IndexShape],
    engine: Engine = Engine.AUTO,
    strategy: Strategy = Strategy.AUTO,
) -> RunResult:
    """Check some indexes as a user would, from the catalog file to the result."""
    request = CheckRequest(
        catalog=lake.catalog,
        tables=(TABLE,),
        indexes=tuple(index.name for index in indexes),
        engine=engine,
        strategy=strategy,
        fresh=True,
    )
    result = run_check(request, spark=spark)
    _demand_right(result, lake, indexes)
    return result


def check_constraints(
    spark: SparkSession,
    lake: ConstrainedLake,
    constraints: Sequence[str],
    *,
    with_index: bool = False,
) -> RunResult:
    """Check some constraints of the sales as a user would, and their index if asked to."""
    checks = (*(["index"] if with_index else []), *(["constraint"] if constraints else []))
    request = CheckRequest(
        catalog=lake.catalog if with_index else lake.catalog_of_constraints,
        tables=(constrained_lake.TABLE,),
        constraints=tuple(constraints),
        checks=checks,
        fresh=True,
    )
    result = run_check(request, spark=spark)
    planted = constrained_lake.PLANTED if lake.damaged else {}
    found = {of.constraint: of.defects for of in result.outcomes if of.check == "constraint"}
    demand("violations", found, {name: planted.get(name, 0) for name in constraints})
    incomplete = [of.reason for of in result.outcomes if of.is_incomplete]
    demand("reasons why the check is incomplete", incomplete, [])
    demand("rows looked at", {of.rows for of in result.outcomes}, {lake.rows})
    return result


def bytes_read(result: RunResult) -> int:
    """The table's bytes that a run says it read."""
    return sum(table.bytes_read or 0 for table in result.tables)


def _demand_right(result: RunResult, lake: Lake, indexes: Sequence[IndexShape]) -> None:
    outcomes = {outcome.index: outcome for outcome in result.outcomes}
    demand("indexes checked", sorted(map(str, outcomes)), sorted(i.name for i in indexes))
    for index in indexes:
        outcome, defects = outcomes[index.name], planted(index)
        demand(f"status of {index.name}", outcome.status, "defective" if defects else "clean")
        demand(f"defects of {index.name}", dict(outcome.counts), defects)
        covered = lake.covered(index)
        demand(f"rows for {index.name}", outcome.rows, covered)
        more = defects.get("dangling_secondary_index", 0)
        fewer = defects.get("missing_secondary_index", 0)
        demand(f"entries of {index.name}", outcome.entries, covered + more - fewer)
