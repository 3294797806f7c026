# SPDX-License-Identifier: Apache-2.0
"""`scrub repair table` and `scrub undo`, as functions."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.api.given import Names, demand_in_range, meant, names_of, spark_options_of
from scrub.app.repairing.combined_options import demand_combinable
from scrub.app.repairing.journal import execute_undo, preview_undo
from scrub.app.repairing.patch import write_patch
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.model.defect import DefectKind, kind_named
from scrub.model.journal import UndoReport
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.repair import RepairReport, RepairRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def repair(
    table: str,
    *,
    catalog: Path | str = "scrub.yaml",
    from_file: Path | str | None = None,
    indexes: Names = (),
    kinds: Sequence[DefectKind | str] | DefectKind | str = (),
    where: str | None = None,
    max_changes: int = 10_000,
    max_fraction: float = 0.05,
    rows_per_second: int | None = None,
    wait_limit: float = 60.0,
    recover_rows: bool = False,
    delete_last_copies: bool = False,
    verify: bool = False,
    patch: Path | str | None = None,
    execute: bool = False,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str | float] | None = None,
    verbose: bool = False,
    spark: "SparkSession | None" = None,
    on_progress: ProgressListener = ignore_progress,
) -> RepairReport:
    """What a repair would do and refuse; with `execute`, do it, and with `patch`, write it."""
    demand_in_range(
        max_changes=max_changes,
        max_fraction=max_fraction,
        rows_per_second=rows_per_second,
        wait_limit=wait_limit,
    )
    request = RepairRequest(
        table=table,
        catalog=Path(catalog),
        indexes=names_of(indexes),
        kinds=tuple(meant("kinds", kind_named, kind) for kind in names_of(kinds)),
        from_file=Path(from_file) if from_file else None,
        where=where,
        max_changes=max_changes,
        max_fraction=max_fraction,
        rows_per_second=rows_per_second,
        wait_limit=wait_limit,
        verify=verify,
        recover_rows=recover_rows,
        delete_last_copies=delete_last_copies,
    )
    directory = Path(patch) if patch else None
    demand_combinable(request, execute=execute, patch=directory)
    do = execute_repair if execute else preview_repair
    if directory is not None:
        do = partial(write_patch, directory=directory)
    options = spark_options_of(master, remote, conf, verbose)
    return do(request, spark=spark, spark_options=options, on_progress=on_progress)


def undo(
    run: str,
    *,
    catalog: Path | str = "scrub.yaml",
    execute: bool = False,
    on_progress: ProgressListener = ignore_progress,
) -> UndoReport:
    """What undoing a repair would take back; with `execute`, take it back."""
    if not execute:
        return preview_undo(Path(catalog), run)
    return execute_undo(Path(catalog), run, on_progress=on_progress)
