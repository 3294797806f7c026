# SPDX-License-Identifier: Apache-2.0
"""The demo: a lake is made, known faults are planted, and a check has to find exactly those.

Then what was found is repaired, looked at again, and taken back.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reports import as_json
from scrub.app.checking.tables import run_check
from scrub.app.repairing.journal import execute_undo
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.app.selftest_and_demo.demo_lake import make_orders, write_demo_catalog, write_lake
from scrub.app.selftest_and_demo.entry_faults import (
    ChangedKey,
    DanglingEntry,
    DuplicateEntry,
    MissingEntry,
)
from scrub.app.selftest_and_demo.fault_ground import Ground
from scrub.app.selftest_and_demo.faults import PlantedFault, Wanted, plant
from scrub.app.selftest_and_demo.key_values import DefectKey
from scrub.app.selftest_and_demo.planted import IndexFault
from scrub.app.selftest_and_demo.row_faults import DuplicateRow, ExcludedRow, UniqueViolation
from scrub.app.selftest_and_demo.stored_faults import (
    StoredNull,
    SwappedStoredValues,
    WrongStoredValue,
)
from scrub.app.selftest_and_demo.table_copy import edited
from scrub.app.selftest_and_demo.verdicts import EngineReport
from scrub.model.defect import DefectKind
from scrub.model.journal import UndoReport
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.repair import RepairReport, RepairRequest
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEED = 7
# Half a minute is too short a life for a JVM to be worth its best compiler.
_SHORT_LIVED = SparkOptions(conf=(("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1"),))
_FAULTS: Mapping[str, tuple[IndexFault, ...]] = {
    "by_number": (MissingEntry(), DuplicateRow(), UniqueViolation()),
    "by_customer": (ChangedKey(), WrongStoredValue(), StoredNull(), SwappedStoredValues()),
    "open_orders": (MissingEntry(), ExcludedRow(), DuplicateEntry()),
    "by_coupon": (DanglingEntry(), ExcludedRow()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoLake:
    """A lake on disk, and what is wrong with it."""

    catalog: Path
    table: Table
    rows: int
    entries: Mapping[str, int]  # by index
    faults: tuple[PlantedFault, ...]
    seconds: float

    @property
    def planted(self) -> Counter[DefectKey]:
        return Counter(key for fault in self.faults for key in fault.expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the check reported, and how that compares with what was planted."""

    result: RunResult
    planted: Mapping[DefectKind, int]
    found: Mapping[DefectKind, int]  # of those planted
    unexpected: int
    seconds: float

    @property
    def exit_code(self) -> int:
        return 0 if self.planted == self.found and not self.unexpected else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRepair:
    """What would be done, what was done, what is left, and the way back."""

    planned: RepairReport
    done: RepairReport
    after: RunResult
    undone: UndoReport

    @property
    def went_well(self) -> bool:
        """Only what was refused is left, and everything could be taken back."""
        refused = {refusal.defect for refusal in self.done.plan.refusals}
        left = {defect.id for defect in self.after.defects}
        taken_back = all(one.outcome in ("done", "already_right") for one in self.undone.done)
        return not self.done.left and left <= refused and taken_back


def make_demo(
    directory: Path, rows: int, *, on_progress: ProgressListener = ignore_progress
) -> DemoLake:
    """Write the lake with its faults, and a catalog, into a directory."""
    began = time.monotonic()
    on_progress(Progress(phase="making orders"))
    catalog = write_demo_catalog(directory)
    orders = make_orders(catalog, rows, _SEED)
    wanted: list[Wanted] = [
        (fault, index) for index in orders.table.indexes for fault in _FAULTS[index.name]
    ]
    faults, edits, lacking = plant(Ground(orders, _SEED), wanted)
    assert not lacking, f"no room for {lacking.values()}"
    on_progress(Progress(phase="writing Delta tables"))
    faulty = edited(orders, edits)
    write_lake(faulty, directory / "lake")
    return DemoLake(
        catalog=catalog,
        table=orders.table,
        rows=faulty.rows.num_rows,
        entries={name: entries.num_rows for name, entries in faulty.entries.items()},
        faults=faults,
        seconds=time.monotonic() - began,
    )


def run_demo(
    lake: DemoLake,
    *,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> DemoResult:
    """Check the lake as any user would, and compare."""
    began = time.monotonic()
    request = CheckRequest(catalog=lake.catalog, tables=(lake.table.name,))
    result = run_check(request, spark=spark, spark_options=_SHORT_LIVED, on_progress=on_progress)
    reported = EngineReport.of(result, [lake.table]).defects
    planted = lake.planted
    return DemoResult(
        result=result,
        planted=_by_kind(planted),
        found=_by_kind(planted & reported),
        unexpected=max(0, result.defects_total - (planted & reported).total()),
        seconds=time.monotonic() - began,
    )


def repair_demo(
    lake: DemoLake,
    found: RunResult,
    *,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> DemoRepair:
    """Repair what a check has found, check again, and undo."""
    result = lake.catalog.parent / "result.json"
    result.write_text(as_json.render(found), encoding="utf-8")
    request = RepairRequest(table=lake.table.name, catalog=lake.catalog, from_file=result)
    planned = preview_repair(request)
    done = execute_repair(request, on_progress=on_progress)
    after = run_check(
        CheckRequest(catalog=lake.catalog, tables=(lake.table.name,), fresh=True),
        spark=spark,
        spark_options=_SHORT_LIVED,
        on_progress=on_progress,
    )
    assert done.run is not None, "there was something to repair"
    undone = execute_undo(Path(lake.catalog), done.run)
    return DemoRepair(planned=planned, done=done, after=after, undone=undone)


def _by_kind(defects: Counter[DefectKey]) -> dict[DefectKind, int]:
    counts = Counter(key.kind for key in defects.elements())
    return {kind: counts[kind] for kind in DefectKind if counts[kind]}
