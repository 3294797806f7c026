# SPDX-License-Identifier: Apache-2.0
"""Repairing a thousand defects of a given result, in a small table and in a large one."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
from pyspark.sql import SparkSession

from benchmarks.answers import demand
from benchmarks.data import DEFECTS, Lake
from benchmarks.postgres import shop
from benchmarks.shapes import BY_CUSTOMER_DAMAGED, TABLE
from reports import as_json
from scrub.app.checking.tables import run_check
from scrub.app.repairing.journal import execute_undo
from scrub.app.repairing.repair import execute_repair
from scrub.model.repair import ActionOutcome, RepairRequest
from scrub.model.request import CheckRequest

_DAMAGE = """
    DELETE FROM orders__by_customer WHERE id % {stride} = 0;
    UPDATE orders__by_customer SET status = 'refunded' WHERE id % {stride} = 1;
    INSERT INTO orders__by_customer SELECT customer_id, id + {rows}, status
    FROM orders WHERE id % {stride} = 2;
"""


@dataclass(slots=True)
class Damaged:
    """A table with about a thousand defects, and the result of a check that names them."""

    request: RepairRequest
    take_back: Callable[[str], object]  # what a run did
    run: str | None = None

    def repair(self) -> None:
        report = execute_repair(self.request)
        demand("over a limit", report.over_limit, None)
        demand("outcomes", set(report.counts), {ActionOutcome.DONE})
        demand("places left", len(report.left), 0)
        self.run = report.run

    def restore(self) -> None:
        """As before, so that the next repair finds the same."""
        if self.run is not None:
            self.take_back(self.run)
            self.run = None


@contextmanager
def damaged_lake(spark: SparkSession, lake: Lake) -> Iterator[Damaged]:
    """A copy of the damaged index beside the table itself, which nobody writes to."""
    lake.generate([BY_CUSTOMER_DAMAGED])
    with tempfile.TemporaryDirectory(prefix="scrub-bench-repair-", dir=lake.home) as directory:
        home = Path(directory)
        (home / "lake").mkdir()
        (home / "lake" / TABLE).symlink_to(lake.table)
        index = home / "lake" / BY_CUSTOMER_DAMAGED.relation

        def copy_index(run: str | None = None) -> None:  # noqa: ARG001 - it is as if none had been
            """An undo would bring the defects back in a small file, where they cost nothing."""
            shutil.rmtree(index, ignore_errors=True)
            shutil.copytree(lake.index(BY_CUSTOMER_DAMAGED), index, copy_function=os.link)
            os.sync()  # else the journal of this repair waits for the files of the one before

        copy_index()
        shutil.copy(lake.catalog, home / "scrub.yaml")
        yield _damaged(spark, home / "scrub.yaml", (BY_CUSTOMER_DAMAGED.name,), copy_index)


@contextmanager
def damaged_shop(spark: SparkSession, rows: int) -> Iterator[Damaged]:
    with shop(rows) as made:
        damage = _DAMAGE.format(stride=3 * rows // DEFECTS, rows=rows)
        with psycopg.connect(made.url, autocommit=True) as connection:
            connection.execute(damage)
            connection.execute("VACUUM ANALYZE")
        undo = partial(execute_undo, made.catalog)
        yield _damaged(spark, made.catalog, ("by_customer",), undo)


def _damaged(
    spark: SparkSession,
    catalog: Path,
    indexes: tuple[str, ...],
    take_back: Callable[[str], object],
) -> Damaged:
    request = CheckRequest(catalog=catalog, tables=(TABLE,), indexes=indexes, limit=2 * DEFECTS)
    result = run_check(request, spark=spark)
    demand("about so many defects", result.defects_total >= DEFECTS - 3, True)
    file = catalog.parent / "result.json"
    file.write_text(as_json.render(result))
    return Damaged(
        RepairRequest(
            table=TABLE, catalog=catalog, indexes=indexes, from_file=file, max_fraction=1.0
        ),
        take_back,
    )
