# SPDX-License-Identifier: Apache-2.0
"""Changes before and after, as the journal and the preview of an undo show them."""

import pytest

from reports.journals import after_cell, before_cell
from scrub.model.journal import JournalRecord
from scrub.model.repair import ActionKind, Entry

OLD: Entry = {"c": 2, "s": "old"}
NEW: Entry = {"c": 2, "s": "new"}


@pytest.mark.parametrize(
    ("kind", "before", "after", "shown"),
    [
        (ActionKind.PUT, None, NEW, ("absent", "c=2, s='new'")),
        (ActionKind.DELETE, OLD, None, ("c=2, s='old'", "absent")),
        (ActionKind.DELETE, OLD, NEW, ("c=2, s='old'", "absent")),  # the right one was beside it
        (ActionKind.REPLACE, OLD, NEW, ("c=2, s='old'", "c=2, s='new'")),
        (ActionKind.KEEP_ONE, OLD, OLD, ("c=2, s='old', several times", "c=2, s='old', once")),
    ],
)
def test_a_change_is_shown_as_what_became_of_its_entry(
    kind: ActionKind, before: Entry | None, after: Entry | None, shown: tuple[str, str]
) -> None:
    change = JournalRecord(
        run="r",
        number=0,
        index="i",
        kind=kind,
        defect="d",
        primary_key=None,
        before=before,
        after=after,
    )
    assert (before_cell(change), after_cell(change)) == shown
