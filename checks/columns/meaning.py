# SPDX-License-Identifier: Apache-2.0
"""Which indexes and constraints a session cannot judge, because they mean something else in it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from checks.registry import CONSTRAINT, INDEX
from scrub.catalog.dependence import (
    cased_expressions,
    depends_on_casing,
    depends_on_zone,
    zoned_in_spark,
)
from scrub.model.plan import CheckPlan, ConstraintPlan, IndexPlan, NotChecked, TablePlan, Way
from scrub.model.relation import RelationFacts
from scrub.model.request import Engine, Strategy
from scrub.model.types import TypeName
from scrub.spark.casing import OF_A_LANGUAGE, WHAT_TO_DO, goes_by_a_language
from scrub.spark.time_zone import SETTING, zone_of_jvms

_UTC = ("UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Universal", "Etc/Zulu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a session evaluates in; what costs a job is asked only where it matters."""

    time_zone: str  # of the session
    by_language: Callable[[], bool]  # whether letters are cased as the JVM's language has it
    clocks: Callable[[], str | None]  # the zone of the JVMs; None: not known, or several


def without_changed_meaning(plan: CheckPlan, spark: SparkSession) -> CheckPlan:
    """The plan without what would mean something else in this session: incomplete, by name."""
    return judged_in(plan, _around(spark))


def _around(spark: SparkSession) -> Surroundings:
    return Surroundings(
        time_zone=spark.conf.get(SETTING) or "",
        by_language=partial(goes_by_a_language, spark),
        clocks=partial(zone_of_jvms, spark),
    )


def changed_meaning(table: TablePlan, one: IndexPlan, spark: SparkSession) -> str | None:
    """Why an index would be judged by another meaning if Spark evaluated it in this session."""
    return _reason(table, one, _around(spark))


def judged_in(plan: CheckPlan, around: Surroundings) -> CheckPlan:
    """The plan without what would be judged by another meaning: that is incomplete, by name.

    What tasks evaluate means the same in every session.
    """
    tables: list[TablePlan] = []
    refused: list[NotChecked] = []
    for table in plan.tables:
        unsound = {one.constraint.name: _unsound(table, one, around) for one in table.constraints}
        refused += [_refused_constraint(table, name, why) for name, why in unsound.items() if why]
        kept = tuple(one for one in table.constraints if not unsound[one.constraint.name])
        table = replace(table, constraints=kept)  # noqa: PLW2901
        if table.pairs is not None:  # bytes mean the same everywhere
            if table.indexes or table.whole or kept:
                tables.append(table)
            continue
        by_tasks = table.side.engine is Engine.NATIVE and plan.strategy is not Strategy.MERGE
        reason_of = _reason_beside_expressions if by_tasks else _reason
        reasons = {one.index.name: reason_of(table, one, around) for one in table.indexes}
        refused += [_refused(table, name, why) for name, why in reasons.items() if why]
        left = replace(
            table, indexes=tuple(one for one in table.indexes if not reasons[one.index.name])
        )
        if table.whole and (why := _where_reason(table, around)):
            refused += [_refused(table, None, why, one.check) for one in table.whole]
            left = replace(left, whole=())
        if left.indexes or left.whole or left.constraints:
            tables.append(left)
    return replace(plan, tables=tuple(tables), not_checked=(*plan.not_checked, *refused))


def _refused(table: TablePlan, index: str | None, why: str, check: str = INDEX.name) -> NotChecked:
    return NotChecked(
        table=table.table.name,
        check=check,
        index=index,
        reason=why,
        incomplete=True,
        snapshot=table.side.facts.snapshot.label,
    )


def _refused_constraint(table: TablePlan, name: str, why: str) -> NotChecked:
    return replace(_refused(table, None, why, CONSTRAINT.name), constraint=name)


def _unsound(table: TablePlan, one: ConstraintPlan, around: Surroundings) -> str | None:
    """Why a constraint would be judged by another meaning, if it would."""
    if reason := _where_reason(table, around):
        return reason
    if one.way is not Way.SQL:
        return None
    of_parent = [one.parent.facts] if one.parent is not None else []
    zone, condition = table.table.time_zone, one.constraint.condition
    zoned = condition is not None and depends_on_zone(condition, table.table.types)
    instants = [
        facts
        for facts, names in ((table.side.facts, one.columns), *((of, ()) for of in of_parent))
        if _holds_instants(facts, names or tuple(facts.columns))
    ]
    with_text = any(facts.times_as_text for facts in instants)
    if (zoned or with_text) and not same_zone(around.time_zone, zone):
        return _other_zone(around.time_zone, zone)
    if condition is not None and depends_on_casing(condition) and around.by_language():
        return f"{OF_A_LANGUAGE}: {WHAT_TO_DO}"
    by_clock = [facts for facts in instants if facts.times_by_clock]
    # A key is compared with itself, unless its parent is read another way.
    if condition is None and (not of_parent or len(by_clock) == len(of_parent) + 1):
        return None
    return _clocks_differ(by_clock, zone, around) if by_clock else None


def _reason(table: TablePlan, one: IndexPlan, around: Surroundings) -> str | None:
    zoned = zoned_in_spark(table.table, one.index)
    if reason := _reason_of_reading(table, one, around, zoned):
        return reason
    if cased_expressions(one.index) and around.by_language():
        return f"{OF_A_LANGUAGE}: {WHAT_TO_DO}"
    return _reason_of_clocks(table, one, zoned, around)


def _reason_beside_expressions(
    table: TablePlan, one: IndexPlan, around: Surroundings
) -> str | None:
    """The same, if no session evaluates the expressions."""
    reason = _reason_of_reading(table, one, around, zoned=False)
    return reason or _reason_of_clocks(table, one, zoned_in_spark(table.table, one.index), around)


def _reason_of_reading(
    table: TablePlan, one: IndexPlan, around: Surroundings, zoned: bool
) -> str | None:
    if reason := _where_reason(table, around):
        return reason
    with_text = any(facts.times_as_text for facts in _with_instants(table, one))
    if (zoned or with_text) and not same_zone(around.time_zone, table.table.time_zone):
        return _other_zone(around.time_zone, table.table.time_zone)
    return None


def _where_reason(table: TablePlan, around: Surroundings) -> str | None:
    zone = table.table.time_zone
    if _where_is_zoned(table) and not same_zone(around.time_zone, zone):
        return f"--where: {_other_zone(around.time_zone, zone)}"
    if table.where and depends_on_casing(table.where) and around.by_language():
        return f"--where: {OF_A_LANGUAGE}: {WHAT_TO_DO}"
    return None


def _where_is_zoned(table: TablePlan) -> bool:
    return bool(table.where) and depends_on_zone(table.where or "", table.table.types)


def _other_zone(session: str, zone: str) -> str:
    return (
        f"it depends on the time zone, which is {zone} in the catalog and {session} in the Spark "
        f"session, and the session cannot be copied: set {SETTING} to {zone} in it, or let scrub "
        "start a session"
    )


def _reason_of_clocks(
    table: TablePlan, one: IndexPlan, zoned: bool, around: Surroundings
) -> str | None:
    """Why wall clocks that a JVM makes instants of cannot be judged."""
    by_clock = [facts for facts in _with_instants(table, one) if facts.times_by_clock]
    # The same shift on both sides is none, unless an expression looks at the clock.
    if not by_clock or (len(by_clock) > 1 and not zoned):
        return None
    return _clocks_differ(by_clock, table.table.time_zone, around)


def _clocks_differ(
    by_clock: Sequence[RelationFacts], zone: str, around: Surroundings
) -> str | None:
    of_jvm = around.clocks()
    if of_jvm is not None and same_zone(of_jvm, zone):
        return None
    relations = ", ".join(facts.relation for facts in by_clock)
    return (
        f"{relations} stores times without a zone, and the JVM of the Spark session makes instants "
        f"of them in {of_jvm or 'a zone that it does not tell'}, not in {zone}: start its driver "
        f"and executors with -Duser.timezone={zone}, or let scrub start a session"
    )


def _with_instants(table: TablePlan, one: IndexPlan) -> Iterator[RelationFacts]:
    """The relations of which the check of this index reads instants."""
    of_table = INDEX.columns(table.table, [one.index], table.where)
    for facts, names in ((table.side.facts, of_table), (one.side.facts, one.side.columns)):
        if _holds_instants(facts, names):
            yield facts


def _holds_instants(facts: RelationFacts, names: Sequence[str]) -> bool:
    types = (facts.columns.get(name) for name in names)
    return any(of is not None and of.name is TypeName.TIMESTAMP for of in types)


def same_zone(one: str, other: str) -> bool:
    """Whether two names are of one zone."""
    return one == other or (one in _UTC and other in _UTC)
