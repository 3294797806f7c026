# SPDX-License-Identifier: Apache-2.0
"""Commits of a repair to a relation, each with its event in the journal before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scrub.model.entry_shape import EntryShape
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.delta.commit import Mark
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.images import WholeEntries
from scrub.stores.delta.journal import EventKind
from scrub.stores.delta.runs import DeltaRuns, last_committed, repair_mark
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.writes import commit_states
from scrub.stores.repairing import Applied, Change, entry_of

Content = Mapping[str, Any]
"""One change as the journal holds it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a batch does to a relation."""

    found: WholeEntries  # as judged
    rows: pa.Table  # those that may have to be written, by the numbers that the states know
    contents: Sequence[Content]


def commit_journalled(
    runs: DeltaRuns,
    run: str,
    kind: EventKind,
    of: Index | Table,
    decide: Callable[[DeltaSnapshot, NewFiles], Decided],
) -> None:
    """Decide, journal and commit, again and again until nobody is in the way."""

    def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
        decided = decide(snapshot, new)
        found = decided.found
        if not decided.contents:
            return True
        place = {
            "store": of.store,
            "relation": of.relation if found.has_changed else None,
            "follows": last_committed(snapshot, run),
        }
        # Journal first: a record without a write is harmless, a write without one is not.
        told = [{**place, **one} for one in decided.contents]
        mark = Mark(repair_mark(run), runs.journal.add(run, kind, told))
        return not found.has_changed or commit_states(
            new, found.whole, found.found, found.states, decided.rows, mark
        )

    runs.lake.writer(of).until_committed(of.relation, attempt)


def undone_contents(records: Sequence[JournalRecord], applied: Sequence[Applied]) -> list[Content]:
    """The changes that an undo has taken back, or found taken back."""
    return [
        {"of": record.run, "number": record.number}
        for record, result in zip(records, applied, strict=True)
        if result.outcome in (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)
    ]


def content_of(
    action: Action,
    kind: ActionKind,
    before: Entry | None,
    removed: Sequence[Entry],
    left: Sequence[Entry],
) -> Content:
    """What the journal holds of a change: what it removed, exactly, and what it left."""
    return {
        "index": action.index,
        "kind": kind.value,
        "defect": action.defect,
        "primary_key": None if action.primary_key is None else dict(action.primary_key),
        "before": before,
        "after": None if action.after is None else dict(action.after),
        "removed": list(removed),
        "left": list(left),
    }


@dataclass(frozen=True, slots=True)
class BatchContents:
    """The entries of a batch in the words of the journal: those found and those given."""

    shape: EntryShape
    found: WholeEntries
    images: Sequence[Entry]
    given: Sequence[Entry]

    def of(
        self, action: Action, change: Change, applied: Applied, removed: Sequence[int]
    ) -> Content:
        left = self.found.left_in_place(entry_of(change.before, change.after))
        return content_of(
            action,
            ActionKind.DELETE if applied.beside else action.kind,
            self._trimmed(self.images[removed[0]]) if removed else None,
            [self.images[number] for number in removed],
            [self._entry(found, given) for found, given in left],
        )

    def _entry(self, found: int | None, given: int | None) -> Entry:
        if found is not None:
            return self._trimmed(self.images[found])
        assert given is not None, "an entry was found or given"
        return self.given[given]

    def _trimmed(self, image: Entry) -> Entry:
        """The columns of an image that the catalog knows."""
        return {name: image[name] for name in self.shape.names}
