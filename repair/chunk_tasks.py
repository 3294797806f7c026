# SPDX-License-Identifier: Apache-2.0
"""Workers as Spark tasks: each opens its own connection and works off free ranges."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from repair.working_off import Stuck, Worker, WorkSettings
from scrub.errors import ScrubError, StoreUnavailable
from scrub.stores.building import Clash, IndexBuild, Superseded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenBuild = Callable[[], IndexBuild]
"""Opens the build in a task; it is sent to the task, so it must be a plain function."""


def work_off_in_tasks(
    spark: "SparkSession", open_build: OpenBuild, settings: WorkSettings, phase: str
) -> Sequence[Clash]:
    """Work off the ranges of a phase in tasks; what stopped one of them is raised here."""
    from scrub.spark.tasks import run_in_tasks

    work = partial(_work, open_build=open_build, settings=settings, phase=phase)
    rows = run_in_tasks(spark, settings.workers, work, "report string").collect()
    reports = [json.loads(row.report) for row in rows]
    # Clashes come first: they are why the other workers were stopped.
    clashes = [Clash(**clash) for report in reports for clash in report["clashes"]]
    for report in () if clashes else reports:
        if report["superseded"]:
            raise Superseded(report["superseded"])
        if report["stuck"]:
            raise Stuck(report["stuck"], hint=report["hint"])
        if report["failed"]:
            raise StoreUnavailable(report["failed"], hint=report["hint"])
    return clashes


def _work(
    number: int,  # noqa: ARG001 - all workers are alike
    open_build: OpenBuild,
    settings: WorkSettings,
    phase: str,
) -> Iterator[pa.RecordBatch]:
    """Report failures as results: an exception would make Spark run the task again."""
    report: dict[str, object] = dict.fromkeys(("superseded", "stuck", "failed", "hint"))
    report["clashes"] = []
    build = open_build()
    try:
        report["clashes"] = [asdict(clash) for clash in Worker(build, settings).work_off(phase)]
    except Stuck as error:
        report |= {"stuck": str(error), "hint": error.hint}
    except Superseded as error:
        report["superseded"] = str(error)
    except ScrubError as error:
        report |= {"failed": str(error), "hint": error.hint}
    finally:
        build.close()
    yield pa.RecordBatch.from_pydict({"report": [json.dumps(report)]})
