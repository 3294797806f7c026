# SPDX-License-Identifier: Apache-2.0
"""The decision where the tasks of a check run: pure, but for the question how much is to be read.

What tasks do is the same in both places. Little work is done before Spark would have started; Spark
is for work that outgrows a machine, for clusters, and for what only Spark can read or evaluate.
"""

from collections.abc import Callable, Collection, Iterator

from scrub.model.place import IN_PROCESS_BYTES, Place, in_units
from scrub.model.plan import CheckPlan, Side, TablePlan, Way
from scrub.model.relation import RelationFacts
from scrub.model.request import Engine, Strategy

NeededBytes = Callable[[RelationFacts, Collection[str]], int]


def place_of(
    plan: CheckPlan, *, spark_named: str | None, bytes_max: int, needed_bytes: NeededBytes
) -> Place:
    """Where to run a plan; `spark_named` says what names a cluster or a session, if it is named."""
    if spark_named is not None:
        return Place(in_process=False, reason=spark_named)
    if bytes_max == 0:
        return Place(in_process=False, reason=f"{IN_PROCESS_BYTES} is 0")
    if plan.strategy is Strategy.MERGE:
        return Place(in_process=False, reason="everything is joined")
    for table in plan.tables:
        if (reason := _needs_spark(table)) is not None:
            return Place(in_process=False, reason=reason)
    size = sum(
        needed_bytes(facts, columns) for table in plan.tables for facts, columns in _read(table)
    )
    told = f"{in_units(size)} to read"
    if size > bytes_max:
        return Place(in_process=False, reason=f"{told}, above {in_units(bytes_max)}")
    return Place(in_process=True, reason=f"{told}, below {in_units(bytes_max)}")


def _needs_spark(table: TablePlan) -> str | None:
    for side in _sides(table):
        if side.engine is not Engine.NATIVE:
            return f"Spark reads {side.facts.relation}: {side.reason}"
    for one in table.constraints:
        if one.way is Way.SQL:
            return f"Spark evaluates {one.constraint.name}: {one.reason}"
    return None


def _sides(table: TablePlan) -> Iterator[Side]:
    """What tasks read; what a database compares, it reads itself."""
    if table.pairs is not None:
        yield from (relation.side for relation in table.pairs.relations)
        return
    by_tasks = [one for one in table.indexes if not one.in_store]
    scanned = any(one.way is Way.SCAN for one in table.constraints)
    if by_tasks or table.whole or scanned:
        yield table.side
    yield from (one.side for one in by_tasks)


def _read(table: TablePlan) -> Iterator[tuple[RelationFacts, Collection[str]]]:
    """Each relation that tasks read, with the columns that are wanted of it."""
    columns = set(table.side.columns).union(*(one.columns for one in table.whole))
    for side in _sides(table):
        of_table = side is table.side and table.pairs is None
        yield side.facts, columns if of_table else side.columns
    for one in table.constraints:
        if one.way is Way.KEYS:
            yield table.side.facts, one.columns
        if one.way in (Way.KEYS, Way.SCAN) and one.parent is not None:
            yield one.parent.facts, one.parent.table.primary_key
