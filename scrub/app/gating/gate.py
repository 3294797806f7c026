# SPDX-License-Identifier: Apache-2.0
"""`scrub gate`: a check, or the result of one, against what is known and waived."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.checking.tables import run_check
from scrub.app.gating.baseline import new_salt, read_baseline
from scrub.app.gating.earlier_run import demand_definitions, demand_recent, read_run
from scrub.app.gating.grounds import Grounds, requirements, with_required_checks
from scrub.app.gating.judging import failing_rules, judge
from scrub.app.gating.remembering import Listener, demand_writable, remember
from scrub.app.gating.tally import Tally
from scrub.app.selection import select_tables
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.waivers import load_waivers, waivers_path
from scrub.errors import UsageError
from scrub.model.definition import definition_of
from scrub.model.gate import BASELINE_FILE, Baseline, GateRequest, Judged
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_gate(
    request: GateRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> Judged:
    """Check tables, or take the result of a check, and decide; writes the baseline if asked."""
    catalog = load_catalog(request.check.catalog, unset_allowed=True)
    tables = select_tables(catalog, request.check)
    earlier = None if request.from_file is None else _earlier(request, catalog, tables)
    path = request.baseline or catalog.path.parent / BASELINE_FILE
    grounds = grounds_of(request, catalog, tables, path)
    if earlier is not None:
        grounds = replace(grounds, names_only=grounds.names_only or earlier.redacted)
    if request.write_baseline or request.prune:
        demand_writable(path)
        if grounds.baseline is None:
            grounds = replace(grounds, baseline=Baseline(salt=new_salt()))
    keeps = request.write_baseline or request.prune
    listener = Listener(Tally(grounds), keeps=keeps, limit=request.check.limit)
    if earlier is None:
        result = run_check(
            with_required_checks(request.check, catalog.gate),
            spark=spark,
            spark_options=spark_options,
            on_progress=on_progress,
            on_defect=listener,
        )
    else:
        result = earlier
        for defect in result.defects:
            listener(defect)
    failing = failing_rules(result, grounds, listener.tally)
    result = replace(result, defects=listener.shown(result.defects, failing))
    verdict = judge(result, grounds, listener.tally)
    if not keeps:
        return Judged(result=result, verdict=verdict)
    return remember(request, path, grounds, listener, Judged(result=result, verdict=verdict))


def grounds_of(
    request: GateRequest, catalog: Catalog, tables: Iterable[Table], baseline: Path
) -> Grounds:
    """What the files beside the catalog say; a mistake in one of them is an error."""
    known = read_baseline(baseline, catalog.path)
    if known is None and request.baseline is not None and not request.write_baseline:
        hint = "--write-baseline makes it"
        raise UsageError(f"there is no baseline {baseline}", hint=hint)
    return Grounds(
        policy=catalog.gate,
        waivers=load_waivers(catalog),
        baseline=known,
        required=requirements(catalog.gate, tables),
        definitions={name: definition_of(table) for name, table in catalog.tables.items()},
        of_pairs=frozenset(name for name, of in catalog.tables.items() if of.kv is not None),
        names_only=request.check.redact,
        catalog_file=catalog.path.name,
        waivers_file=waivers_path(catalog).name,
    )


def _earlier(request: GateRequest, catalog: Catalog, tables: Iterable[Table]) -> RunResult:
    """The result of `--from`, of the tables named."""
    path = request.from_file
    assert path is not None
    as_it_is = CheckRequest(
        catalog=request.check.catalog,
        tables=request.check.tables,
        limit=request.check.limit,
        redact=request.check.redact,
    )
    if request.check != as_it_is:
        raise UsageError(
            f"--from takes the result in {path} as it is, so no option of a check applies",
            hint="only --limit, --redact, and options of the gate and of the report can be given",
        )
    result = read_run(path, catalog.path)
    definitions = {name: definition_of(table) for name, table in catalog.tables.items()}
    demand_definitions(path, result, definitions, catalog.path)
    demand_recent(path, result, catalog.gate.max_age, datetime.now(UTC), catalog.path)
    names = {table.name for table in tables}
    return replace(
        result,
        tables=tuple(table for table in result.tables if table.table in names),
        defects=tuple(defect for defect in result.defects if defect.table in names),
    )
