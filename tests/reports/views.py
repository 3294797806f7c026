# SPDX-License-Identifier: Apache-2.0
"""Everything that is rendered as text, with data that is wide, long or hostile where it can be."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from reports import as_text
from reports.builds import builds_as_text, plan_as_text
from reports.context import NO_CONTEXT, ReportContext
from reports.journals import run_as_text, runs_as_text, runs_to_forget_as_text
from reports.repairs import repair_as_text, undo_as_text
from reports.screen import Screen
from scrub.app.selftest_and_demo.faults import NotPlanted
from scrub.app.selftest_and_demo.selftest import SelfTestResult
from scrub.app.selftest_and_demo.verdicts import Trial
from scrub.cli.selftest import selftest_as_text
from scrub.model.backfill import BackfillPlan, BackfillStatus
from scrub.model.build import Method, State
from scrub.model.defect import DefectKind
from scrub.model.journal import (
    JournalRecord,
    RememberedRun,
    RunRecord,
    UndoneChange,
    UndoReport,
)
from scrub.model.repair import (
    Action,
    ActionKind,
    ActionOutcome,
    DoneAction,
    LostRow,
    Refusal,
    RepairPlan,
    RepairReport,
)
from scrub.model.result import CheckOutcome, RunResult, Status
from tests.reports import results
from tests.reports.results import HOSTILE, STARTED, a_check, a_defect, a_plan, a_run, a_table
from tests.reports.verdicts import judged, judged_result

View = Callable[[Screen], str]
WIDE = (
    "Müller & Söhne 漢字テスト 한국어 👍❤\ufe0f e\u0301"  # two columns a character, marks, pictures
)
LONG_NAME = "by_customer_and_status_and_date_of_delivery"


def _result(result: RunResult, screen: Screen, context: ReportContext = NO_CONTEXT) -> str:
    return as_text.render(result, context=replace(context, screen=screen))


def wide() -> RunResult:
    """Rows that fit nowhere, beside one that does."""
    address = {"street": WIDE, "note": "It was a dark and stormy night; " * 3}
    key = {"tenant": "00000000-1111-2222-3333-444444444444", "id": 17}
    return a_run(
        a_table(
            a_check(LONG_NAME, Status.DEFECTIVE, counts={DefectKind.WRONG_STORED_VALUE: 2}),
            a_check("by_email", ignored=("loaded_at", "loaded_by", "batch", "source", "file")),
        ),
        defects=(
            a_defect(),
            a_defect(
                index=LONG_NAME,
                primary_key=key,
                index_key={"customer": WIDE, **key},
                expected=address,
                actual=address | {"street": "x" * 100},
                detail="the entry was written by a job that has not run since; " * 8,
            ),
        ),
    )


def constraints() -> RunResult:
    of_row = {"index": None, "index_key": None, "expected": None}
    checks = [
        CheckOutcome(
            check="constraint",
            index=None,
            constraint=name,
            status=status,
            rows=1_000_000,
            counts=counts,
        )
        for name, status, counts in (
            ("amount_is_positive", Status.DEFECTIVE, {DefectKind.CHECK_VIOLATION: 1_204}),
            ("orders_customer_id_fkey", Status.DEFECTIVE, {DefectKind.FOREIGN_KEY_VIOLATION: 2}),
            ("orders_status_not_null", Status.CLEAN, {}),
        )
    ]
    return a_run(
        a_table(*checks, a_check("by_customer")),
        defects=(
            a_defect(
                DefectKind.CHECK_VIOLATION,
                constraint="amount_is_positive",
                primary_key={"id": 4},
                actual={"amount": "-12.50"},
                detail="amount > 0 is false",
                **of_row,
            ),
            a_defect(
                DefectKind.FOREIGN_KEY_VIOLATION,
                constraint="orders_customer_id_fkey",
                primary_key={"id": 5},
                actual={"customer_id": 9_999},
                detail="customers has no row with this key",
                **of_row,
            ),
        ),
    )


def _action(number: int, kind: ActionKind = ActionKind.REPLACE, **more: object) -> Action:
    entry = {"customer_id": 4, "id": number, "status": "paid"}
    facts: dict[str, object] = {
        "defect": f"{number:016x}",
        "defect_kind": DefectKind.WRONG_STORED_VALUE,
        "table": "orders",
        "index": "by_customer",
        "primary_key": {"id": number},
        "before": entry,
        "after": entry | {"status": "open"},
    }
    return Action(kind=kind, **(facts | more))  # type: ignore[arg-type]


ACTIONS = (
    _action(17),
    _action(18, ActionKind.PUT, before=None),
    _action(19, ActionKind.DELETE, after=None),
    _action(20, before={"customer": WIDE, "id": 20}, after={"customer": HOSTILE, "id": 20}),
)
LOST = LostRow(
    table="orders",
    primary_key={"id": 99},
    columns={"id": 99, "customer_id": 4, "email": "somebody@example.org"},
    indexes=("by_customer", "by_email"),
    absent_columns=("amount", "note"),
)
REFUSAL = Refusal(
    defect="00ff00ff00ff00ff",
    defect_kind=DefectKind.UNIQUE_VIOLATION,
    table="orders",
    index="by_email",
    primary_key={"id": 70},
    reason="two rows of the table share the key of a unique index, and no entry can be right",
    remedy="correct the rows, then check again: scrub check table orders --index by_email",
)
REPAIR = RepairReport(
    table="orders",
    plan=RepairPlan(actions=ACTIONS, refusals=(REFUSAL,), lost_rows=(LOST,)),
    before=results.defective(),
    found=5,
    chosen=5,
)


def repaired() -> RepairReport:
    outcomes = (ActionOutcome.DONE, ActionOutcome.DONE, ActionOutcome.ROW_CHANGED)
    done = [
        DoneAction(action, outcome, True)
        for action, outcome in zip(ACTIONS[:3], outcomes, strict=True)
    ]
    refused = DoneAction(ACTIONS[3], ActionOutcome.REFUSED, False, f"constraint: {HOSTILE}")
    return replace(
        REPAIR,
        is_executed=True,
        run="c3dc0cb760e4",
        done=(*done, refused),
        after=results.defective_and_incomplete(),
    )


CHANGES = tuple(
    JournalRecord(
        run="c3dc0cb760e4",
        number=number,
        index=action.index,
        kind=action.kind,
        defect=action.defect,
        primary_key=action.primary_key,
        before=action.before,
        after=action.after,
        undone_by="0b1c2d3e4f50" if number else None,
    )
    for number, action in enumerate(ACTIONS)
)
TO_UNDO = UndoReport(of="c3dc0cb760e4", table="orders", started=STARTED, changes=CHANGES)
UNDONE = replace(
    TO_UNDO,
    run="0b1c2d3e4f50",
    done=tuple(
        UndoneChange(index=one.index, kind=one.kind, primary_key=one.primary_key, outcome=outcome)
        for one, outcome in zip(
            CHANGES, [*[ActionOutcome.DONE] * 2, *[ActionOutcome.CONFLICT] * 2], strict=True
        )
    ),
)
RUN = RunRecord(
    run="c3dc0cb760e4",
    command="repair",
    table="orders",
    started=STARTED,
    finished=STARTED + timedelta(seconds=2),
)
UNDO = replace(RUN, run="0b1c2d3e4f50", command="undo", undoes=RUN.run)
RUNS = [RememberedRun(UNDO, 3, 0, ()), RememberedRun(RUN, 1_204, 3, (UNDO.run,))]
CUT_OFF = [*RUNS, RememberedRun(replace(RUN, run="5f5e5d5c5b5a", finished=None), 17, 0, ())]

BUILDS = [
    BackfillStatus(
        table="orders",
        indexes=("by_customer", "by_email"),
        state=State.BACKFILLING,
        method=Method.INIT_PUT,
        rows=250_000,
        rows_expected=1_000_000,
        entries=500_000,
        rows_a_second=25_000.0,
        fast_chunks=80,
        slow_chunks=7,
        gave_way=3,
        rows_per_second=30_000,
        runner="session 41 of anna, since 2026-11-16 12:00:00+00",
        started=datetime(2026, 11, 16, 12, tzinfo=UTC),
        waiting_for=("session 17 of till, which has been writing for 84 s: UPDATE orders SET x=1",),
    ),
    BackfillStatus(
        table="orders",
        indexes=(LONG_NAME, f"{LONG_NAME}_in_reverse"),
        state=State.REVERSED,
        failure="two rows share the key of the unique index:\n" + "id=70 and id=71; " * 8,
    ),
]
BUILD_PLAN = BackfillPlan(
    table="orders",
    indexes=("by_customer",),
    method=Method.MERGE,
    rows=1_000_000,
    steps=(
        "create the index table public.orders__by_customer, owned by the owner of public.orders, "
        "and triggers with which writers of the table record their changes",
        "load the rows in chunks, merge what writers recorded, check the index and publish it",
    ),
)
SELFTEST = SelfTestResult(
    table="orders",
    rows=100_000,
    rows_total=20_000_000,
    engines=("native", "sql"),
    trials=tuple(
        Trial(index=index, fault=fault, planted=planted, found={"native": planted, "sql": found})
        for index, fault, planted, found in (
            ("by_customer", "missing entry", 1, 1),
            ("by_customer", "stored value swapped with that of another entry", 2, 1),
            (LONG_NAME, "two rows that share a unique key", 2, 2),
        )
    ),
    not_applicable=(
        NotPlanted(fault="wrong stored value", index="by_email", reason="it stores no column"),
    ),
    not_tried=(
        NotPlanted(
            fault="every fault",
            index="by_status",
            reason="its relation could not be read: part-0003.parquet is not a Parquet file",
            applicable=True,
        ),
    ),
    unexpected={"native": (), "sql": ()},
    also_found=3,
    seconds=12.5,
)

VIEWS: Mapping[str, View] = {
    **{name: partial(_result, make()) for name, make in results.RESULTS.items()},
    "wide": partial(_result, wide()),
    "constraints": partial(_result, constraints()),
    "gate": partial(_result, judged_result(), context=judged()),
    "explain": lambda screen: as_text.render_plan(a_plan(), ReportContext(screen=screen)),
    "repair_preview": partial(repair_as_text, REPAIR),
    "repair_executed": partial(repair_as_text, repaired()),
    "undo_preview": partial(undo_as_text, TO_UNDO),
    "undo_executed": partial(undo_as_text, UNDONE),
    "journal": partial(runs_as_text, RUNS),
    "journal_cut_off": partial(runs_as_text, CUT_OFF),
    "journal_prune": partial(runs_to_forget_as_text, RUNS),
    "journal_show": partial(run_as_text, RUN, CHANGES),
    "backfill_status": lambda screen: builds_as_text(BUILDS, screen) + "\n",
    "backfill_plan": lambda screen: plan_as_text(BUILD_PLAN, screen) + "\n",
    "selftest": lambda screen: selftest_as_text(SELFTEST, screen) + "\n",
}
