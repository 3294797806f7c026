# SPDX-License-Identifier: Apache-2.0
"""The demo's lake is sound but for what was planted, and the check finds exactly that."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from scrub.app.checking.tables import run_check
from scrub.app.selftest_and_demo.demo import make_demo, repair_demo, run_demo
from scrub.app.selftest_and_demo.demo_lake import make_orders, write_demo_catalog
from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.app.selftest_and_demo.verdicts import EngineReport
from scrub.model.defect import INDEX_KINDS, DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from tests.scrub.app.selftest_and_demo.oracle import defects_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONDITIONS = {"status = 'open'": lambda row: row["status"] == "open"}


def test_the_orders_are_sound_before_anything_is_planted(tmp_path: Path) -> None:
    orders = make_orders(write_demo_catalog(tmp_path), 2000, seed=7)
    assert orders.rows.num_rows == 2000
    assert not defects_of(orders, CONDITIONS)


def test_the_lake_has_every_kind_of_defect_and_no_other(tmp_path: Path) -> None:
    lake = make_demo(tmp_path, 1000)
    table = lake.table
    on_disk = TableCopy(
        table=table,
        rows=DeltaTable(tmp_path / "lake" / table.relation).to_pyarrow_table(),
        entries={
            index.name: DeltaTable(tmp_path / "lake" / index.relation).to_pyarrow_table()
            for index in table.indexes
        },
    )
    assert defects_of(on_disk, CONDITIONS) == lake.planted
    assert {key.kind for key in lake.planted} == set(INDEX_KINDS)


@pytest.mark.spark
def test_the_check_finds_exactly_what_was_planted_before_a_repair_and_after_its_undo(
    spark: "SparkSession", tmp_path: Path
) -> None:
    lake = make_demo(tmp_path, 20_000)
    found = run_demo(lake, spark=spark)
    assert (found.exit_code, found.unexpected) == (0, 0)
    assert found.planted == found.found == Counter(key.kind for key in lake.planted.elements())
    assert found.result.exit_code == 1, "a user who runs the same check is told of defects"
    repaired = repair_demo(lake, found.result, spark=spark)
    assert repaired.went_well
    left = {defect.kind for defect in repaired.after.defects}
    assert left == {DefectKind.UNIQUE_VIOLATION, DefectKind.DUPLICATE_KEY}
    again = run_demo(lake, spark=spark)
    assert again.planted == again.found, "undone, everything is as it was"


@pytest.mark.spark
@pytest.mark.parametrize(
    "way", [(Engine.AUTO, Strategy.FINGERPRINT), (Engine.SQL, Strategy.MERGE)], ids="-".join
)
def test_plans_that_spark_compiles_find_the_same(
    way: tuple[Engine, Strategy], spark: "SparkSession", tmp_path: Path
) -> None:
    """The tests' own session interprets them, and so do sessions for few rows."""
    lake = make_demo(tmp_path, 1000)
    request = CheckRequest(
        catalog=lake.catalog, tables=(lake.table.name,), engine=way[0], strategy=way[1]
    )
    with codegen(spark, wholeStage="true", factoryMode="CODEGEN_ONLY"):
        result = run_check(request, spark=spark)
    assert EngineReport.of(result, [lake.table]).defects == lake.planted


@contextmanager
def codegen(spark: "SparkSession", **settings: str) -> Iterator[None]:
    names = {name: f"spark.sql.codegen.{name}" for name in settings}
    before = {name: spark.conf.get(names[name]) for name in settings}
    for name, value in settings.items():
        spark.conf.set(names[name], value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(names[name], str(value))
