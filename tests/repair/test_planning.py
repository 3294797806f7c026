# SPDX-License-Identifier: Apache-2.0
"""What is planned for defects: a rule or a refusal for every kind, and nothing that cannot be."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.last_copies import Siblings
from repair.planning import plan_repair
from repair.recovering import recovering
from repair.refusals import REFUSED
from scrub.errors import UsageError
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Action, ActionKind, Entry
from scrub.model.table import EntryColumn, Table
from scrub.model.types import ColumnType, TypeName
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    STRING,
    defect_of,
    index_of,
    kv_table,
    table_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "repair.md"
RULES = {
    DefectKind.MISSING: ActionKind.PUT,
    DefectKind.DANGLING: ActionKind.DELETE,
    DefectKind.WRONG_STORED_VALUE: ActionKind.REPLACE,
    DefectKind.DUPLICATE_ENTRY: ActionKind.KEEP_ONE,
}
RIGHT: Entry = {"v": "a", "k": 1, "s": "right"}
WRONG: Entry = {"v": "a", "k": 1, "s": "wrong"}


def defect(kind: DefectKind, table: Table | None = None) -> Defect:
    """One of the kind, as a check tells it."""
    made = defect_of(table or kv_table(), "by_v", kind, expected=RIGHT, actual=WRONG)
    match kind:
        case DefectKind.MISSING:
            return replace(made, actual=None)
        case DefectKind.DANGLING:
            return replace(made, expected=None)
        case DefectKind.DUPLICATE_ENTRY:
            return replace(made, actual=RIGHT)
    return made


def only_action(*defects: Defect, table: Table | None = None) -> Action:
    plan = plan_repair(defects, {"t": table or kv_table()})
    assert plan.refusals == ()
    (action,) = plan.actions
    return action


@pytest.mark.parametrize("kind", DefectKind)
def test_every_kind_has_a_rule_or_a_refusal_with_a_reason_and_a_remedy(kind: DefectKind) -> None:
    plan = plan_repair([defect(kind)], {"t": kv_table()})
    if kind in RULES:
        (action,) = plan.actions
        assert action.kind is RULES[kind]
        assert plan.refusals == ()
    else:
        (refusal,) = plan.refusals
        assert plan.actions == ()
        assert (refusal.reason, refusal.remedy) == REFUSED[kind]
        assert refusal.reason
        assert refusal.remedy


@pytest.mark.parametrize("kind", DefectKind)
def test_the_documentation_says_of_every_kind_what_is_done(kind: DefectKind) -> None:
    row = re.search(rf"^\| `{kind}` \| (.+) \|$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert row, f"{kind} has no row in docs/repair.md"
    assert row[1].startswith("refused: ") is (kind in REFUSED)


@pytest.mark.parametrize("kind", RULES)
def test_an_action_says_what_must_be_there_and_what_will_be(kind: DefectKind) -> None:
    action = only_action(defect(kind))
    before, after = {
        DefectKind.MISSING: (None, RIGHT),
        DefectKind.DANGLING: (WRONG, None),
        DefectKind.WRONG_STORED_VALUE: (WRONG, RIGHT),
        DefectKind.DUPLICATE_ENTRY: (RIGHT, RIGHT),
    }[kind]
    assert (action.before, action.after, action.primary_key) == (before, after, {"k": 1})


@pytest.mark.parametrize("kind", RULES)
def test_a_defect_that_does_not_say_what_the_entry_is_is_refused(kind: DefectKind) -> None:
    told = replace(defect(kind), expected=None, actual=None)
    plan = plan_repair([told], {"t": kv_table()})
    assert plan.actions == ()
    assert "does not say" in plan.refusals[0].reason


@pytest.mark.parametrize(
    "entry",
    [
        {"v": "a", "k": 1},
        {"v": "a", "k": 1, "s": "x", "more": 1},
        {"v": "a", "k": "one", "s": "x"},
        {"v": "a", "k": 2**70, "s": "x"},
        {"v": 7, "k": 1, "s": "x"},
        {"v": "a", "k": 1.5, "s": "x"},
        {"v": "a", "k": True, "s": "x"},
        {},
    ],
)
def test_a_defect_that_does_not_fit_the_index_is_refused(entry: Entry) -> None:
    """As from an older result, or one of another catalog."""
    told = replace(defect(DefectKind.MISSING), expected=entry)
    plan = plan_repair([told], {"t": kv_table()})
    assert plan.actions == ()
    assert plan.refusals[0].remedy


@pytest.mark.parametrize("kind", RULES)
def test_a_defect_that_names_another_row_than_its_entry_does_is_refused(kind: DefectKind) -> None:
    """Formerly the row that it named was asked, which has no such entry: a right one went."""
    plan = plan_repair([replace(defect(kind), primary_key={"k": 2})], {"t": kv_table()})
    assert plan.actions == ()
    assert "does not fit the index" in plan.refusals[0].reason


@pytest.mark.parametrize("change", [{"index": "gone"}, {"index": None}, {"table": "gone"}])
def test_a_defect_of_what_the_catalog_does_not_have_is_refused(change: dict[str, Any]) -> None:
    plan = plan_repair([replace(defect(DefectKind.MISSING), **change)], {"t": kv_table()})
    assert plan.actions == ()
    assert "catalog" in plan.refusals[0].reason


def test_an_expression_whose_type_nobody_knows_is_refused() -> None:
    column = EntryColumn(name="v", source="lower(v)", is_expression=True)
    index = index_of(key={}, columns=(column,), suffix={"k": BIGINT}, stored={"s": STRING})
    table = table_of({"k": BIGINT, "v": STRING, "s": STRING}, index)
    plan = plan_repair([defect(DefectKind.MISSING, table)], {"t": table})
    assert "type" in plan.refusals[0].reason


def test_an_index_of_the_database_is_rebuilt_once_whatever_is_wrong_with_it() -> None:
    own = kv_table(is_own=True)
    kinds = [DefectKind.MISSING, DefectKind.DANGLING, DefectKind.WRONG_STORED_VALUE]
    action = only_action(*(defect(kind) for kind in kinds), table=own)
    assert action.kind is ActionKind.REINDEX


def test_rows_that_share_a_key_of_an_own_unique_index_are_refused() -> None:
    """Building it anew would fail."""
    plan = plan_repair([defect(DefectKind.UNIQUE_VIOLATION)], {"t": kv_table(is_own=True)})
    assert plan.actions == ()
    assert len(plan.refusals) == 1


def test_own_index_is_not_rebuilt_while_rows_share_a_key_of_it() -> None:
    found = [defect(DefectKind.MISSING), defect(DefectKind.UNIQUE_VIOLATION)]
    plan = plan_repair(found, {"t": kv_table(is_own=True)})
    assert plan.actions == ()
    assert len(plan.refusals) == 2
    assert "invalid index" in plan.refusals[0].reason


def two_indexes() -> Table:
    other = index_of(key={"s": STRING}, suffix={"k": BIGINT}, name="by_s", relation="t__by_s")
    plain = index_of(key={"v": STRING}, suffix={"k": BIGINT})
    return table_of({"k": BIGINT, "v": STRING, "s": STRING, "x": STRING}, plain, other)


def two_dangling(table: Table) -> list[Defect]:
    kind = DefectKind.DANGLING
    return [
        defect_of(table, "by_v", kind, actual={"v": "a", "k": 1}),
        defect_of(table, "by_s", kind, actual={"s": "b", "k": 1}),
    ]


def test_a_row_that_two_indexes_agree_on_is_proposed_and_its_entries_are_kept() -> None:
    table = two_indexes()
    plan = plan_repair(two_dangling(table), {"t": table})
    assert plan.actions == ()
    assert len(plan.refusals) == 2
    (lost,) = plan.lost_rows
    assert lost.columns == {"k": 1, "v": "a", "s": "b"}
    assert lost.absent_columns == ("x",)
    assert lost.indexes == ("by_s", "by_v")
    assert "--recover-rows" in plan.refusals[0].remedy


def test_a_lost_row_is_recovered_with_null_for_what_nobody_knows() -> None:
    table = two_indexes()
    plan = plan_repair(two_dangling(table), {"t": table}, recover_rows=True)
    assert plan.refusals == ()
    (action,) = plan.actions
    assert (action.kind, action.index, action.primary_key) == (ActionKind.RECOVER, "", {"k": 1})
    assert (action.before, action.after) == (None, {"k": 1, "v": "a", "s": "b", "x": None})
    assert action.lost == plan.lost_rows[0]
    assert [(t.index, t.entry) for t in plan.lost_rows[0].told] == [
        ("by_v", {"v": "a", "k": 1}),
        ("by_s", {"s": "b", "k": 1}),
    ]


def test_rows_are_put_back_only_by_stores_that_can() -> None:
    with pytest.raises(UsageError, match="lost rows of table t are not put back") as told:
        recovering(object(), two_indexes())
    assert "--recover-rows" in (told.value.hint or "")


def never_null(table: Table) -> tuple[Table, list[Defect]]:
    columns = tuple(replace(column, nullable=column.name != "x") for column in table.columns)
    return replace(table, columns=columns), two_dangling(table)


def with_own_index(table: Table) -> tuple[Table, list[Defect]]:
    indexes = (replace(table.indexes[0], is_own=True), table.indexes[1])
    return replace(table, indexes=indexes), two_dangling(table)


def wanted_by_another(table: Table) -> tuple[Table, list[Defect]]:
    indexes = (replace(table.indexes[0], unique=True), table.indexes[1])
    found = defect_of(table, "by_v", DefectKind.MISSING, expected={"v": "a", "k": 2})
    return replace(table, indexes=indexes), [*two_dangling(table), found]


def of_another_type(table: Table) -> tuple[Table, list[Defect]]:
    first, second = two_dangling(table)
    return table, [replace(first, actual={"v": 7, "k": 1}), second]


def made_by_an_expression(table: Table) -> tuple[Table, list[Defect]]:
    """The primary key aside, an entry may tell no column at all."""
    column = EntryColumn(name="v", source="lower(v)", is_expression=True, type=STRING)
    indexes = (replace(table.indexes[0], key=(column,)), table.indexes[1])
    columns = tuple(replace(column, nullable=column.name != "v") for column in table.columns)
    return replace(table, indexes=indexes, columns=columns), two_dangling(table)


@pytest.mark.parametrize(
    ("given_by", "reason"),
    [
        (never_null, "holds the row's x, which the catalog says is never NULL"),
        (with_own_index, "the database's own"),
        (wanted_by_another, "another row of the table has its key in index by_v"),
        (of_another_type, "does not fit the index"),
        (made_by_an_expression, "holds the row's v"),
    ],
)
def test_a_lost_row_that_cannot_be_put_back_truthfully_is_refused_and_its_entries_stay(
    given_by: Callable[[Table], tuple[Table, list[Defect]]], reason: str
) -> None:
    table, defects = given_by(two_indexes())
    plan = plan_repair(defects, {"t": table}, recover_rows=True)
    assert {action.kind for action in plan.actions} <= {ActionKind.PUT, ActionKind.REINDEX}
    assert plan.refusals
    for refusal in plan.refusals:
        assert reason in refusal.reason
        assert refusal.remedy


def test_entries_of_a_row_that_is_there_are_no_sign_of_a_lost_one() -> None:
    table = two_indexes()
    plan = plan_repair(two_dangling(table), {"t": table}, [("t", {"k": 1})])
    assert [action.kind for action in plan.actions] == [ActionKind.DELETE] * 2
    assert plan.lost_rows == ()


def test_entries_of_one_index_alone_are_no_sign_of_a_lost_row() -> None:
    table = two_indexes()
    plan = plan_repair(two_dangling(table)[:1], {"t": table})
    assert [action.kind for action in plan.actions] == [ActionKind.DELETE]


JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(
    kind=st.sampled_from(DefectKind),
    expected=st.none() | st.dictionaries(st.sampled_from(["v", "k", "s", "z"]), JSON),
    actual=st.none() | st.dictionaries(st.sampled_from(["v", "k", "s", "z"]), JSON),
    key=st.none() | st.dictionaries(st.sampled_from(["k", "z"]), JSON),
)
def test_every_defect_gets_one_action_or_one_refusal_whatever_it_says(
    kind: DefectKind, expected: Entry | None, actual: Entry | None, key: Entry | None
) -> None:
    told = replace(defect(kind), expected=expected, actual=actual, primary_key=key)
    plan = plan_repair([told], {"t": kv_table()})
    assert len(plan.actions) + len(plan.refusals) == 1


@pytest.mark.parametrize("is_chosen", [True, False], ids=["with the violation", "without it"])
def test_an_entry_whose_place_is_shared_is_refused_with_the_violation(is_chosen: bool) -> None:
    """Rows 1 and 2 share a key, and the entry of 2 is missing: its place is taken."""
    table = kv_table(unique=True)
    missing = replace(
        defect(DefectKind.MISSING, table),
        primary_key={"k": 2},
        expected={"v": "a", "k": 2, "s": "right"},
    )
    sharing = [
        replace(defect(DefectKind.UNIQUE_VIOLATION, table), primary_key={"k": k}) for k in (1, 2)
    ]
    chosen = [missing, *sharing] if is_chosen else [missing]
    plan = plan_repair(chosen, {"t": table}, others=[missing, *sharing])
    assert plan.actions == ()
    assert {refusal.reason for refusal in plan.refusals} == {
        REFUSED[DefectKind.UNIQUE_VIOLATION][0]
    }
    assert len(plan.refusals) == len(chosen)
    other = replace(missing, primary_key={"k": 3}, expected={"v": "b", "k": 3, "s": "right"})
    assert len(plan_repair([other, *sharing], {"t": table}).actions) == 1


def test_a_value_that_its_column_cannot_hold_is_neither_written_nor_a_reason_to_delete() -> None:
    """What the physical check rejects is evidence of nothing."""
    moment, wide = ColumnType(TypeName.TIMESTAMP), ColumnType(TypeName.DECIMAL, 38, 2)
    index = index_of(key={"v": moment}, suffix={"k": BIGINT}, stored={"s": STRING, "d": wide})
    table = table_of({"k": BIGINT, "v": moment, "s": STRING, "d": wide}, index)
    strict = tuple(replace(column, nullable=column.name != "s") for column in table.columns)
    table = replace(table, columns=strict)
    sound = {"v": "2024-01-01T00:00:00Z", "k": 1, "s": "a", "d": "9" * 36 + ".25"}

    def told(kind: DefectKind, expected: Entry | None, actual: Entry | None) -> Defect:
        return defect_of(table, "by_v", kind, expected=expected, actual=actual)

    far = sound | {"v": "253402300800000000 us"}
    absent = sound | {"s": None}
    refused = [
        told(DefectKind.MISSING, far, None),
        told(DefectKind.DANGLING, None, far),
        told(DefectKind.MISSING, absent, None),
        told(DefectKind.WRONG_STORED_VALUE, absent, sound),
    ]
    plan = plan_repair(refused, {"t": table})
    assert plan.actions == ()
    assert [refusal.reason for refusal in plan.refusals] == [
        f"the {whose} has a value in {column} that the column cannot hold, which is evidence of "
        "nothing"
        for whose, column in (("row", "v"), ("entry", "v"), ("row", "s"), ("row", "s"))
    ]
    # What is wrong with the entry only is what repairs are for, and long decimals are no fault.
    done = [
        told(DefectKind.WRONG_STORED_VALUE, sound, absent),
        told(DefectKind.MISSING, sound, None),
        told(DefectKind.DANGLING, None, absent),
    ]
    assert len(plan_repair(done, {"t": table}).actions) == len(done)


# ---- rows that prove nothing, and rows of which little is left ----


@pytest.mark.parametrize("kind", RULES)
def test_entries_that_use_a_damaged_value_of_a_row_are_left_until_the_row_is_mended(
    kind: DefectKind,
) -> None:
    wrong_row = Defect(
        kind=DefectKind.INVALID_ENCODING,
        table="t",
        index=None,
        primary_key={"k": 1},
        index_key=None,
        expected=None,
        actual=None,
        snapshot="",
        column="s",
    )
    plan = plan_repair([defect(kind)], {"t": kv_table()}, others=[wrong_row])
    assert plan.actions == ()
    assert "the row is damaged" in plan.refusals[0].reason
    elsewhere = replace(wrong_row, primary_key={"k": 2})
    assert len(plan_repair([defect(kind)], {"t": kv_table()}, others=[elsewhere]).actions) == 1


def test_an_index_that_could_not_be_looked_at_keeps_entries_of_absent_rows_only() -> None:
    siblings = Siblings(present=[("t", {"k": 1})], unread={"by_s": "permission denied"})
    told = defect(DefectKind.DANGLING)
    assert len(plan_repair([told], {"t": kv_table()}, siblings=siblings).actions) == 1
    absent = replace(siblings, present=())
    (refusal,) = plan_repair([told], {"t": kv_table()}, siblings=absent).refusals
    assert "index by_s may hold the row too" in refusal.reason
