# SPDX-License-Identifier: Apache-2.0
"""What could not be read, and which differences that leaves undecided; no Spark is needed."""

import pytest

from checks.pairs.unread import UnreadPairs
from checks.unread import Unread
from scrub.model.defect import DefectKind
from tests.checks.plans import a_plan, numbered


@pytest.mark.parametrize(
    ("cut", "undecidable"),
    [
        (None, set()),
        (0, {DefectKind.DANGLING, DefectKind.DUPLICATE_ENTRY}),
        (2, {DefectKind.MISSING, DefectKind.DUPLICATE_KEY}),
    ],
)
def test_what_unread_columns_could_explain(cut: int | None, undecidable: set[DefectKind]) -> None:
    (slot,), relations, parts = numbered(a_plan("by_customer"))
    unread = Unread()
    if cut is not None:
        unread.parts[cut] = (parts[cut], "gone")
    assert unread.undecidable(slot, *relations) == undecidable
    assert unread.is_whole_for(slot, *relations) is (cut is None)


def test_a_duplicate_entry_of_pairs_is_never_undecidable() -> None:
    """Two pairs with one key are wrong, whatever the pairs say that could not be read."""
    (slot,), (relation,), parts = numbered(a_plan("by_customer", pairs=True))
    unread = UnreadPairs(rows=True)
    unread.entries["by_customer"] = 1
    unread.parts[0] = (parts[0], "gone")
    undecidable = unread.undecidable(slot, relation, relation)
    assert undecidable == {DefectKind.DANGLING, DefectKind.MISSING}


@pytest.mark.parametrize(
    ("unread", "undecidable"),
    [
        (UnreadPairs(), set()),
        (UnreadPairs(rows=True), {DefectKind.DANGLING}),
    ],
)
def test_what_unread_pairs_could_explain(unread: UnreadPairs, undecidable: set[DefectKind]) -> None:
    (slot,), (relation,), _ = numbered(a_plan("by_customer", pairs=True))
    assert unread.undecidable(slot, relation, relation) == undecidable


def test_pairs_that_could_not_be_read_are_the_reason() -> None:
    (slot,), (relation,), _ = numbered(a_plan("by_customer", pairs=True))
    unread = UnreadPairs(rows=True)
    unread.doubtful["by_customer"] = 1
    reason = unread.reason(slot, relation, relation)
    assert reason is not None
    assert reason.startswith("pairs of the table could not be read and 1 row of the table")
    assert unread.doubted(slot) == 1
