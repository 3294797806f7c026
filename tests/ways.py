# SPDX-License-Identifier: Apache-2.0
"""The ways in which a check can be made, and how a result shows that it was made in one of them.

All must find the same. Who runs something in a way asks `demand_made` of the result, so that a test
fails if a way was silently not exercised.

| | trials | scenarios | self-test |
|---|---|---|---|
| in process | tests/checks/test_here.py | tests/test_scenarios.py | scrub selftest |
| Spark, native tasks | tests/checks/test_detection.py | tests/test_scenarios.py | scrub selftest |
| Spark SQL | tests/checks/test_detection.py | tests/test_scenarios.py | scrub selftest |
| merge | tests/checks/test_detection.py | tests/test_scenarios.py | scrub selftest |

`tests/test_ways.py` holds this table to be whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from scrub.model.request import Engine, Strategy
from scrub.model.result import RunResult, Status


@dataclass(frozen=True, slots=True)
class Way:
    """Where tasks run, who reads, and how both sides are compared."""

    name: str
    engine: Engine
    strategy: Strategy
    in_process: bool = False


IN_PROCESS = Way("in process", Engine.AUTO, Strategy.FINGERPRINT, in_process=True)
NATIVE = Way("native", Engine.AUTO, Strategy.FINGERPRINT)
SQL = Way("sql", Engine.SQL, Strategy.FINGERPRINT)
MERGE = Way("merge", Engine.AUTO, Strategy.MERGE)
WAYS = (IN_PROCESS, NATIVE, SQL, MERGE)


def way_of(engine: Engine, strategy: Strategy) -> Way:
    """The way on Spark; Spark SQL joins, too, and then it is both of its own and a merge."""
    of_engine = SQL if engine is Engine.SQL else NATIVE
    return of_engine if strategy is not Strategy.MERGE else Way("merge", engine, strategy)


def objections(result: RunResult, way: Way) -> Iterator[str]:
    """What of a result does not fit the way in which it should have been made."""
    ran, place = str(result.ran), "in process, " if way.in_process else "on Spark, "
    if not ran.startswith(place):
        yield f"it ran {ran}, not {place}"
    if way.in_process and (result.seconds_starting or "Spark" in ran):
        yield f"Spark was started: {ran}"
    compared = [
        outcome
        for outcome in result.outcomes
        if outcome.check == "index" and outcome.status in (Status.CLEAN, Status.DEFECTIVE)
    ]
    if not compared:
        yield "no index was compared"
        return
    strategies = {outcome.strategy for outcome in compared}
    if strategies != {way.strategy.value}:
        yield f"compared by {strategies}, not {way.strategy}"
    engines = {outcome.engine for outcome in compared}
    if way.engine is Engine.SQL and engines != {Engine.SQL.value}:
        yield f"read by {engines}, not by Spark SQL alone"
    if way.engine is not Engine.SQL and Engine.NATIVE.value not in engines:
        yield f"read by {engines}, and nothing by tasks"  # expressions may need Spark


def demand_made(result: RunResult, way: Way) -> RunResult:
    """The result, which was made in this way."""
    assert not list(objections(result, way)), list(objections(result, way))
    return result
