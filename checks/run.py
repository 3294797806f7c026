# SPDX-License-Identifier: Apache-2.0
"""Running a planned check, stage by stage.

Fingerprints first: parts of tables and indexes are added up, job by job, and the sums of both sides
are compared; other checks count in the same jobs. Then naming: the entries of buckets that differ
(of all, when most do) are joined. A part that cannot be read is set aside and named; what it could
explain stays undecided.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from checks.choose import join_groups
from checks.chosen_rows import learn_chosen_rows
from checks.columns.source import ColumnSource
from checks.compare import compare_in_stores
from checks.conclude import conclude
from checks.constraints.look import look_at_constraints
from checks.constraints.parents import HeldParents, hold_parents
from checks.findings import Findings, SlotFindings
from checks.finished_parts import FinishedParts
from checks.jobs import Jobs
from checks.name import name
from checks.run_settings import RunSettings
from checks.run_state import Run
from checks.scan import choose, look_beside, scan
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.source import EntrySource, Reading
from checks.uniqueness import look_for_shared_keys
from scrub.model.plan import CheckPlan
from scrub.stores.base import ReadableStore

Stores = Mapping[str, ReadableStore]


def plans_by_source(plan: CheckPlan) -> Iterator[CheckPlan]:
    """A plan for each entry source: tables of columns share scans, each table of pairs has one."""
    columns = tuple(table for table in plan.tables if table.pairs is None)
    if columns:
        yield replace(plan, tables=columns, not_checked=())
    for table in plan.tables:
        if table.pairs is not None:
            yield replace(plan, tables=(table,), not_checked=())


def run_stages(plan: CheckPlan, stores: Stores, jobs: Jobs, settings: RunSettings) -> Findings:
    """Carry out the plan of one entry source; reads only.

    Raises OnlySpark, and has named nothing, if tasks cannot evaluate an expression for some row.
    """
    run = _begin(plan, stores, jobs, settings)
    run.joined = learn_chosen_rows(run)
    scan(run)  # before anything is named: tasks may not be able to finish it
    chosen = dict(compare_in_stores(run))
    look_beside(run)
    chosen |= {**run.joined, **choose(run)}
    for group in join_groups(run.plan, run.source.slots, chosen):
        name(run, group, chosen)
    look_for_shared_keys(run)
    look_at_constraints(run)
    return conclude(run)


def _begin(plan: CheckPlan, stores: Stores, jobs: Jobs, settings: RunSettings) -> Run:
    reading = Reading(plan=plan, stores=stores, settings=settings, jobs=jobs)
    held = hold_parents(reading)
    source = _source(replace(reading, plan=held.plan), held)
    finished = FinishedParts(settings.state_directory, held.plan, source.parts)
    source.state = ScanState.start(source.slots, None if settings.fresh else finished.load())
    stores_comparing = {slot.number: source.comparing_store(slot) for slot in source.slots}
    return Run(
        plan=held.plan,
        settings=settings,
        source=source,
        jobs=jobs,
        finished=finished,
        shown=ShownDefects(limit=settings.limit, on_defect=settings.on_defect, jobs=jobs),
        found={slot.number: SlotFindings() for slot in source.slots},
        comparing={number: store for number, store in stores_comparing.items() if store},
    )


def _source(reading: Reading, held: HeldParents) -> EntrySource:
    """The tables of a plan are all of one kind."""
    if reading.plan.tables[0].pairs is not None:
        # Loading the loops that decode pairs takes a second, which only pairs should cost.
        from checks.pairs.source import PairSource

        return PairSource(reading)
    source = ColumnSource(reading)
    source.riding |= held.riding(reading, source.relations, source.parts)
    return source
