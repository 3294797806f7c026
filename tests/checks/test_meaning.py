# SPDX-License-Identifier: Apache-2.0
"""Which indexes a session cannot judge, decided from a plan and what the session evaluates in."""

from collections.abc import Callable

import pytest

from checks.columns.meaning import Surroundings, judged_in
from checks.plan import PinnedIndex, PinnedTable, plan_check
from checks.registry import PHYSICAL
from scrub.model.plan import CheckPlan
from scrub.model.relation import RelationFacts, Snapshot
from scrub.model.request import CheckRequest, Strategy
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import parse_type

COLUMNS = {"id": "bigint", "at": "timestamp", "name": "string"}


def column(name: str) -> EntryColumn:
    return EntryColumn(name=name, source=name, type=parse_type(COLUMNS[name]))


def expression(text: str, name: str, of_type: str) -> EntryColumn:
    return EntryColumn(name=name, source=text, is_expression=True, type=parse_type(of_type))


KEYS = {
    "by_day": expression("to_date(at)", "day", "date"),
    "by_name": expression("lower(name)", "name_lower", "string"),
    "plain": column("at"),
}


def facts(relation: str, columns: dict[str, str], how: str) -> RelationFacts:
    return RelationFacts(
        store="lake",
        relation=relation,
        snapshot=Snapshot(label="version 1"),
        columns={name: parse_type(text) for name, text in columns.items()},
        splits=(),
        rows=None,
        native=how == "tasks",
        native_reason="only Spark reads it",
        times_as_text=how == "text",
        times_by_clock=how == "clock",
    )


def a_plan(
    of_table: str = "",
    of_index: str = "",
    where: str | None = None,
    strategy: Strategy = Strategy.AUTO,
) -> CheckPlan:
    """Three indexes of a table in UTC; relations hold times as text, as clocks, or as instants.

    Spark reads the relations, unless they are for tasks to read.
    """
    indexes = tuple(
        Index(name=name, store="lake", relation=name, key=(key,), suffix=(column("id"),))
        for name, key in KEYS.items()
    )
    table = Table(
        name="events",
        store="lake",
        relation="events",
        columns=tuple(Column(name=n, type=parse_type(t)) for n, t in COLUMNS.items()),
        primary_key=("id",),
        indexes=indexes,
    )
    rows = facts("events", COLUMNS, of_table)
    sources = [
        PinnedIndex(
            table=table,
            index=index,
            table_facts=rows,
            index_facts=facts(index.name, {c.name: str(c.type) for c in index.entry}, of_index),
        )
        for index in indexes
    ]
    whole = [PinnedTable(table=table, facts=rows, check=PHYSICAL)]
    return plan_check(CheckRequest(where=where, strategy=strategy), sources, whole=whole)


def never() -> str:
    raise AssertionError("a job was started for nothing")


def refused(
    plan: CheckPlan,
    zone: str = "UTC",
    language: bool = False,
    clocks: Callable[[], str | None] = never,
) -> dict[str | None, str]:
    around = Surroundings(time_zone=zone, by_language=lambda: language, clocks=clocks)
    judged = judged_in(plan, around)
    assert all(each.incomplete for each in judged.not_checked)
    left = {one.index.name for table in judged.tables for one in table.indexes}
    assert left.isdisjoint({each.index for each in judged.not_checked})
    return {each.index: each.reason for each in judged.not_checked}


def test_nothing_is_refused_where_everything_is_as_it_should_be() -> None:
    assert refused(a_plan()) == {}
    assert refused(a_plan("text", "text")) == {}
    assert refused(a_plan(), zone="Etc/UTC") == {}
    assert refused(a_plan("clock"), clocks=lambda: "Etc/UTC") == {}


def test_another_zone_concerns_what_depends_on_it() -> None:
    (by_day,) = refused(a_plan(), zone="Europe/Berlin").items()
    assert by_day[0] == "by_day"
    assert "spark.sql.session.timeZone" in by_day[1]
    assert set(refused(a_plan("text"), zone="Europe/Berlin")) == {"by_day", "plain"}


def test_a_language_concerns_what_changes_the_case_of_letters() -> None:
    assert set(refused(a_plan(), language=True)) == {"by_name"}


def test_what_tasks_evaluate_means_the_same_in_every_session() -> None:
    plan = a_plan("tasks", "tasks")
    assert refused(plan, zone="Europe/Berlin", language=True) == {}
    joined = a_plan("tasks", "tasks", strategy=Strategy.MERGE)  # Spark evaluates after all
    assert set(refused(joined, zone="Europe/Berlin", language=True)) == {"by_day", "by_name"}


@pytest.mark.parametrize("told", ["Europe/Berlin", None])
def test_clocks_of_another_zone_concern_both_sides_only_where_one_looks_at_them(
    told: str | None,
) -> None:
    assert set(refused(a_plan("clock"), clocks=lambda: told)) == {"by_day", "plain"}
    assert set(refused(a_plan("clock", "clock"), clocks=lambda: told)) == {"by_day"}


def test_a_condition_concerns_everything_that_it_chooses_rows_for() -> None:
    plan = a_plan(where="id > hour(cast('2024-01-01 00:00' as timestamp))")
    assert set(refused(plan, zone="Europe/Berlin")) == {"by_day", "by_name", "plain", None}
    assert set(refused(plan)) == set()
