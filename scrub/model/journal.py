# SPDX-License-Identifier: Apache-2.0
"""What the journal of a store holds: runs, and the changes that they made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrub.model.repair import ActionKind, ActionOutcome, Entry

Image = Mapping[str, str | None]
"""A whole row of an index: the text of each column, which restores it exactly."""


@dataclass(frozen=True, slots=True)
class RowImages:
    """Whole rows that one change removed or changed, and those it left in their place.

    A row that was changed in its place is the first on both sides.
    """

    before: Sequence[Image] = ()
    after: Sequence[Image] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One change that was done."""

    run: str
    number: int
    index: str
    kind: ActionKind
    defect: str
    primary_key: Entry | None
    before: Entry | None
    after: Entry | None
    copies: int = 0  # that were removed beside the one that was kept, deleted or replaced
    undone_by: str | None = None
    images: RowImages | None = None  # None: of a journal that had none, or that keeps its own


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A repair or an undo, as the journal knows it."""

    run: str
    command: str  # "repair" or "undo"
    table: str
    started: datetime
    finished: datetime | None = None
    undoes: str | None = None  # the run that an undo takes back


@dataclass(frozen=True, slots=True)
class RememberedRun:
    """A run with what its journal has."""

    record: RunRecord
    changes: int
    undone: int  # of them
    undone_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneChange:
    """A change that was taken back, or could not be."""

    index: str
    kind: ActionKind
    primary_key: Entry | None
    outcome: ActionOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """An undo; without `run`, nothing was changed."""

    of: str
    table: str
    started: datetime
    changes: tuple[JournalRecord, ...]  # that the run did and that are not taken back yet
    undone_by: tuple[str, ...] = ()  # the runs that took others of its changes back
    run: str | None = None
    done: tuple[UndoneChange, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if something could not be taken back."""
        in_order = (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)
        return 0 if all(one.outcome in in_order for one in self.done) else 1
