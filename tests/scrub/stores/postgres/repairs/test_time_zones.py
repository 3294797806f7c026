# SPDX-License-Identifier: Apache-2.0
"""Repairs of tables whose catalog names a time zone: every value is made and read in that zone."""

from contextlib import closing
from dataclasses import replace

import pytest

from repair.patch.sql import patch_as_sql
from repair.patch.targets import sql_target
from repair.planning import plan_repair
from scrub.model.defect import Defect, DefectKind
from scrub.model.index_shape import shape_of
from scrub.model.repair import ActionOutcome, Entry
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from tests.postgres_server import Database
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    STRING,
    Ground,
    defect_of,
    index_of,
    outcomes,
    table_of,
)

TIME, DATE = ColumnType(TypeName.TIMESTAMP), ColumnType(TypeName.DATE)
TOKYO = "Asia/Tokyo"
EVENING = "2020-01-01T20:00:00Z"  # the next day in Tokyo


def by_day(name: str) -> Index:
    return Index(
        name=name,
        store="shop",
        relation=f"t__{name}",
        key=(EntryColumn(name="d", source="v::date", type=DATE, is_expression=True),),
        suffix=(EntryColumn(name="k", source="k", type=BIGINT),),
        stored=(),
        dialect="postgres",
    )


def table_in_tokyo(*indexes: Index) -> Table:
    return replace(table_of({"k": BIGINT, "v": TIME, "s": STRING}, *indexes), time_zone=TOKYO)


BY_V = index_of(key={"v": TIME}, suffix={"k": BIGINT}, stored={"s": STRING})
BY_S = index_of(
    key={"s": STRING}, suffix={"k": BIGINT}, stored={"v": TIME}, name="by_s", relation="t__by_s"
)


def test_entries_of_a_row_that_is_put_back_are_made_in_the_zone_of_the_table(
    database: Database,
) -> None:
    """Formerly the first write of the transaction set the zone to UTC for those after it."""
    ground = Ground(database, table_in_tokyo(BY_V, BY_S, by_day("by_d"), by_day("by_e")))
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v timestamptz, s text)",
        "CREATE TABLE t__by_v (v timestamptz, k bigint, s text)",
        "CREATE TABLE t__by_s (s text, k bigint, v timestamptz)",
        "CREATE TABLE t__by_d (d date, k bigint)",
        "CREATE TABLE t__by_e (d date, k bigint)",
        f"INSERT INTO t__by_v VALUES ('{EVENING}', 1, 'x')",
        f"INSERT INTO t__by_s VALUES ('x', 1, '{EVENING}')",
    )
    done = ground.execute(ground.recovery(), run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 1}
    assert all(one.in_order for one in done)
    assert ground.contents("by_d") == ground.contents("by_e") == ["(2020-01-02,1)"]
    assert {applied.outcome for _, applied in ground.undo("first")} == {ActionOutcome.DONE}
    assert [ground.contents(name) for name in ("by_d", "by_e")] == [[], []]
    assert len(ground.contents("by_v")) == len(ground.contents("by_s")) == 1


@pytest.fixture
def wall_clocks(database: Database) -> Ground:
    """The table has instants, and its index the same as wall clocks of Tokyo."""
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v timestamptz, s text)",
        "CREATE TABLE t__by_v (v timestamp, k bigint, s text, seen timestamptz DEFAULT now())",
        f"INSERT INTO t VALUES (1, '{EVENING}', 'x'), (2, '{EVENING}', 'y')",
        "INSERT INTO t__by_v VALUES ('2020-01-02 05:00', 2, 'z'), ('2020-01-02 05:00', 9, 'q')",
    )
    return Ground(database, table_in_tokyo(BY_V))


def damage(table: Table) -> list[Defect]:
    def entry(key: int, stored: str) -> Entry:
        return {"v": EVENING, "k": key, "s": stored}

    return [
        defect_of(table, "by_v", DefectKind.MISSING, expected=entry(1, "x")),
        defect_of(table, "by_v", DefectKind.WRONG_STORED_VALUE, entry(2, "y"), entry(2, "z")),
        defect_of(table, "by_v", DefectKind.DANGLING, actual=entry(9, "q")),
    ]


RIGHT = [("2020-01-02 05:00:00", 1, "x"), ("2020-01-02 05:00:00", 2, "y")]


def clocks(ground: Ground) -> list[tuple[object, ...]]:
    return ground.database.rows("SELECT v::text, k, s FROM t__by_v ORDER BY k")


def test_wall_clocks_of_an_index_are_written_and_found_in_the_zone_of_the_table(
    wall_clocks: Ground,
) -> None:
    """Formerly they were written in UTC, called done, and not found where they were right."""
    before = wall_clocks.contents()
    done = wall_clocks.repair(damage(wall_clocks.table), run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 3}, done
    assert all(one.in_order for one in done)
    assert clocks(wall_clocks) == RIGHT
    wall_clocks.undo("first")
    assert wall_clocks.contents() == before


def test_a_change_of_the_zone_does_not_keep_a_repair_from_being_undone(wall_clocks: Ground) -> None:
    """Texts of the journal are in UTC, whatever the zone of the catalog is."""
    database = wall_clocks.database
    database.run(
        f"UPDATE t__by_v SET seen = '{EVENING}'", "ALTER TABLE t__by_v ALTER v TYPE timestamptz"
    )
    table = wall_clocks.table
    database.run(f"UPDATE t__by_v SET v = '{EVENING}'")
    before = wall_clocks.contents()
    assert outcomes(wall_clocks.repair(damage(table), run="first")) == {ActionOutcome.DONE: 3}
    elsewhere = Ground(database, replace(table, time_zone="America/New_York"))
    assert {applied.outcome for _, applied in elsewhere.undo("first")} == {ActionOutcome.DONE}
    assert wall_clocks.contents() == before


def test_a_patch_is_applied_in_the_zone_of_the_table(wall_clocks: Ground) -> None:
    table = wall_clocks.table
    target = sql_target(wall_clocks.store, table, table.index("by_v"))
    assert not isinstance(target, str)
    plan = plan_repair(damage(table), {table.name: table})
    patch = patch_as_sql(plan.actions, shape_of(table, table.index("by_v")), target, "a patch")
    with closing(wall_clocks.database.connect()) as connection:
        connection.execute(patch.text.encode())
    assert clocks(wall_clocks) == RIGHT


def test_a_patch_asks_rows_for_expressions_in_the_zone_of_the_table(database: Database) -> None:
    """Formerly in UTC: rows demanded other entries there, and nothing was done."""
    ground = Ground(database, table_in_tokyo(by_day("by_d")))
    table = ground.table
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v timestamptz, s text)",
        "CREATE TABLE t__by_d (d date, k bigint)",
        f"INSERT INTO t VALUES (1, '{EVENING}', 'x')",
        "INSERT INTO t__by_d VALUES ('2020-01-01', 1)",
    )
    right, wrong = {"d": "2020-01-02", "k": 1}, {"d": "2020-01-01", "k": 1}
    defects = [
        defect_of(table, "by_d", DefectKind.MISSING, expected=right),
        defect_of(table, "by_d", DefectKind.DANGLING, actual=wrong),
    ]
    target = sql_target(ground.store, table, table.index("by_d"))
    assert not isinstance(target, str)
    plan = plan_repair(defects, {table.name: table})
    patch = patch_as_sql(plan.actions, shape_of(table, table.index("by_d")), target, "a patch")
    with closing(database.connect()) as connection:
        connection.execute(patch.text.encode())
    assert ground.contents("by_d") == ["(2020-01-02,1)"]
