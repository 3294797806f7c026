# SPDX-License-Identifier: Apache-2.0
"""The demo's lake is sound but for what was planted, and the check finds exactly that."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from scrub.app.demo_lake import make_orders, write_catalog
from scrub.app.repair_demo import repair_demo
from scrub.app.run_demo import make_demo, run_demo
from scrub.app.table_copy import TableCopy
from scrub.model.defect import PHYSICAL_KINDS, DefectKind
from tests.scrub.app.oracle import defects_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONDITIONS = {"status = 'open'": lambda row: row["status"] == "open"}


def test_the_orders_are_sound_before_anything_is_planted(tmp_path: Path) -> None:
    orders = make_orders(write_catalog(tmp_path), 2000, seed=7)
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
    assert {key.kind for key in lake.planted} == set(DefectKind) - set(PHYSICAL_KINDS)


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
