# SPDX-License-Identifier: Apache-2.0
"""The demo's second half: what was found is repaired, looked at again, and taken back."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reports import as_json
from scrub.app.checking.tables import run_check
from scrub.app.repairing.journal import execute_undo
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.app.selftest_and_demo.demo import SHORT_LIVED, DemoLake
from scrub.model.journal import UndoReport
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.repair import RepairReport, RepairRequest
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        spark_options=SHORT_LIVED,
        on_progress=on_progress,
    )
    assert done.run is not None, "there was something to repair"
    undone = execute_undo(Path(lake.catalog), done.run)
    return DemoRepair(planned=planned, done=done, after=after, undone=undone)
