# SPDX-License-Identifier: Apache-2.0
"""Repairs in a lake that are cut off anywhere; random damage that is mended and brought back."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from repair.executing import Executor
from scrub.model.journal import JournalRecord
from scrub.model.repair import ActionKind, ActionOutcome
from scrub.stores.delta import files as delta_files
from tests.repair.repair_ground import BY_CUSTOMER, OPEN_ORDERS, IndexPlan, Lake, Row

ROWS = [(1, 10, "open"), (2, 20, "paid"), (3, None, "sent"), (4, 40, None)]
HELD = [
    (10, 1, "x"),
    (10, 1, "x"),
    (20, 2, "paid"),
    (20, 2, "paid"),
    (90, 9, "x"),
    (None, 3, "sent"),
]
PLANS = {"by_customer": BY_CUSTOMER, "open_orders": OPEN_ORDERS}


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(commit: int, before: bool) -> Iterator[list[int]]:
    """End the process before or after a commit, of journal or index; counts commits."""
    counted: list[int] = []
    real = delta_files.commit_next

    def commit_next(*given: Any) -> bool:
        counted.append(1)
        is_last = len(counted) == commit + 1
        if is_last and before:
            raise Killed
        done = real(*given)
        if is_last:
            raise Killed
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_files, "commit_next", commit_next)
        yield counted


def damaged(root: Path) -> Lake:
    lake = Lake(root, ROWS, PLANS)
    lake.write("by_customer", HELD)
    lake.write("open_orders", [(20, 2), (20, 2)])
    return lake


def contents(lake: Lake) -> dict[str, Counter[Row]]:
    return {name: lake.entries(name) for name in lake.plans}


def done_to(
    before: Mapping[str, Counter[Row]], records: list[JournalRecord]
) -> dict[str, Counter[Row]]:
    """What indexes hold when exactly these changes were done to them."""
    after = {name: Counter(entries) for name, entries in before.items()}
    for record in records:
        if record.undone_by is not None:
            continue
        entries = after[record.index]
        gone = tuple(record.before.values()) if record.before else None
        come = tuple(record.after.values()) if record.after else None
        if record.kind is ActionKind.KEEP_ONE:
            entries[gone or ()] -= record.copies
            continue
        if gone is not None:
            entries[gone] -= 1 + record.copies
        if come is not None:
            entries[come] += 1
    return {name: +entries for name, entries in after.items()}


def attempt(lake: Lake, run: str, undoes: str | None = None) -> None:
    """A repair or an undo, in a process of its own."""
    store = lake.repairs()
    executor = Executor(store, lake.table, run)
    try:
        if undoes is None:
            executor.repair(lake.plan().actions)
        else:
            executor.undo(undoes)
    finally:
        store.close()


COMMITS = 6  # of a repair: begin, plan and commit of two indexes, end
MOMENTS = {
    f"{commit}-{'before' if before else 'after'}": (commit, before)
    for commit in range(COMMITS)
    for before in (True, False)
}
cut_off_anywhere = pytest.mark.parametrize(
    ("commit", "before"), MOMENTS.values(), ids=MOMENTS.keys()
)


@cut_off_anywhere
def test_a_repair_cut_off_anywhere_is_completed_and_journal_and_data_agree(
    tmp_path: Path, commit: int, before: bool
) -> None:
    lake = damaged(tmp_path)
    original = contents(lake)
    with killed_at(commit, before), pytest.raises(Killed):
        attempt(lake, "run 1")
    assert contents(lake) == done_to(original, lake.repairs().journal("run 1"))
    attempt(lake, "run 2")
    assert not lake.all_defects()
    assert all(record.finished for record in lake.repairs().runs())
    attempt(lake, "undo 2", undoes="run 2")
    attempt(lake, "undo 1", undoes="run 1")
    assert contents(lake) == original


@cut_off_anywhere
def test_an_undo_cut_off_anywhere_is_completed_and_journal_and_data_agree(
    tmp_path: Path, commit: int, before: bool
) -> None:
    lake = damaged(tmp_path)
    original = contents(lake)
    attempt(lake, "run 1")
    with killed_at(commit, before), pytest.raises(Killed):
        attempt(lake, "undo 1", undoes="run 1")
    assert contents(lake) == done_to(original, lake.repairs().journal("run 1"))
    attempt(lake, "undo 2", undoes="run 1")
    assert contents(lake) == original
    assert None not in {record.undone_by for record in lake.repairs().journal("run 1")}


def test_every_commit_is_cut_off_by_one_of_these_tests(tmp_path: Path) -> None:
    lake = damaged(tmp_path)
    with killed_at(99, before=True) as counted:
        attempt(lake, "run 1")
        assert len(counted) == COMMITS
        attempt(lake, "undo 1", undoes="run 1")
        assert len(counted) == 2 * COMMITS


def test_the_same_run_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    lake = damaged(tmp_path)
    original = contents(lake)
    with killed_at(2, before=False), pytest.raises(Killed):
        attempt(lake, "run 1")
    attempt(lake, "run 1")
    assert not lake.all_defects()
    assert contents(lake) == done_to(original, lake.repairs().journal("run 1"))
    attempt(lake, "undo 1", undoes="run 1")
    assert contents(lake) == original


EMAIL = IndexPlan(columns=["email"], storing=["status"], unique=True)
TRIAL_PLANS = {"by_email": EMAIL, **PLANS}
COLUMNS = {"id": "bigint", "customer_id": "bigint", "email": "string", "status": "string"}
IDS = st.integers(1, 6)
CUSTOMERS = st.sampled_from([None, 10, 20])
STATUSES = st.sampled_from([None, "open", "paid"])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Rows whose e-mail is NULL or their own."""
    found = []
    for key in draw(st.sets(IDS)):
        email = draw(st.sampled_from([None, f"e{key}"]))
        found.append((key, draw(CUSTOMERS), email, draw(STATUSES)))
    return found


MAIL_TAKEN = st.sampled_from([None, *(f"e{key}" for key in range(1, 7))])
DAMAGE = {
    "by_email": st.tuples(MAIL_TAKEN, IDS, STATUSES),
    "by_customer": st.tuples(CUSTOMERS, IDS, STATUSES),
    "open_orders": st.tuples(CUSTOMERS, IDS),
}


@st.composite
def damages(draw: st.DrawFn) -> dict[str, tuple[list[int], list[Row]]]:
    """For each index: which entries are lost or copied, and which are there that should not be."""
    return {
        name: (
            draw(st.lists(st.integers(0, 2), min_size=6, max_size=6)),
            draw(st.lists(strange, max_size=4)),
        )
        for name, strange in DAMAGE.items()
    }


def _trial(table_rows: list[Row], damage: dict[str, tuple[list[int], list[Row]]]) -> None:
    with TemporaryDirectory() as directory:
        lake = Lake(Path(directory), table_rows, TRIAL_PLANS, COLUMNS)
        for name, (copies, strange) in damage.items():
            right = list(lake.demanded(name).elements())
            kept = [
                entry for entry, times in zip(right, copies, strict=False) for _ in range(times)
            ]
            lake.write(name, [*kept, *strange])
        original = contents(lake)
        plan = lake.plan()
        refused = {refusal.defect for refusal in plan.refusals}
        done = lake.repair_all("run 1", plan.actions)
        left = {defect.id for defect in lake.all_defects()}
        # A place of a unique index stays taken where the entry in it was refused.
        taken = {one.action.defect for one in done if one.outcome is ActionOutcome.CONFLICT}
        assert left <= refused | taken
        assert refused or not taken
        assert all(one.in_order for one in done if one.outcome is ActionOutcome.DONE)
        assert contents(lake) == done_to(original, lake.repairs().journal("run 1"))
        assert set(lake.undo()) <= {ActionOutcome.DONE}
        assert contents(lake) == original


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows(), damages())
def test_random_damage_is_mended_and_undone(
    table_rows: list[Row], damage: dict[str, tuple[list[int], list[Row]]]
) -> None:
    _trial(table_rows, damage)


@pytest.mark.slow
@settings(
    max_examples=int(os.environ.get("SCRUB_TRIALS", "10")),  # make torture asks for more
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(rows(), damages())
def test_random_damage_is_mended_and_undone_at_length(
    table_rows: list[Row], damage: dict[str, tuple[list[int], list[Row]]]
) -> None:
    _trial(table_rows, damage)
