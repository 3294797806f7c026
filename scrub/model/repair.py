# SPDX-License-Identifier: Apache-2.0
"""What a repair would do, what it did, and what it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from scrub.model.command_line import DEFAULT_CATALOG
from scrub.model.defect import DefectKind, Value
from scrub.model.patch import Patch
from scrub.model.result import RunResult

Entry = Mapping[str, Value]
"""An index entry as defects tell it: JSON values by column."""


class ActionKind(StrEnum):
    """How an index is made to agree with its table; each change is undone by its opposite."""

    PUT = "put"  # the entry that a row lacks
    DELETE = "delete"  # an entry that no row has
    REPLACE = "replace"  # stored columns that are wrong
    KEEP_ONE = "keep_one"  # of several copies
    REINDEX = "reindex"  # an index of the database's own, as a whole
    RECOVER = "recover"  # a row that the table lost, as its indexes hold it

    @property
    def turn(self) -> int:
        """When actions of this kind are applied: see `_TURNS`."""
        return _TURNS.index(self)


_TURNS = (
    ActionKind.DELETE,
    ActionKind.REPLACE,
    ActionKind.KEEP_ONE,
    ActionKind.PUT,
    ActionKind.RECOVER,
    ActionKind.REINDEX,
)
"""The order in which actions are applied.

Deletes come first and puts last, because in a unique index both may concern one place: the old
entry has to make room. A replacement takes all copies of the old entry with it, so it precedes
KEEP_ONE: those copies are then already gone. The other way round, KEEP_ONE would meet an entry that
no row demands and report that the row has changed. Rows and whole indexes follow the entries.
"""


class ActionOutcome(StrEnum):
    """What became of an action when the row was looked at again."""

    DONE = "done"
    ALREADY_RIGHT = "already_right"  # somebody else was first
    ROW_CHANGED = "row_changed"  # what the defect said of the row is no longer so
    CONFLICT = "conflict"  # the index holds something else in this place now
    PUT_BACK = "put_back"  # deleted, and put back for a row that came meanwhile
    REFUSED = "refused"  # the table did not take the row


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEntry:
    """An entry whose row the table does not have, and which tells what the row was."""

    index: str
    defect: str  # the id of the defect that reported it
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRow:
    """A row that several indexes agree on and the table does not have: probably lost."""

    table: str
    primary_key: Entry
    columns: Entry  # those that the indexes cover
    indexes: tuple[str, ...]
    absent_columns: tuple[str, ...]  # what nobody knows any more
    told: tuple[ToldEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change of one entry, or of one row, with what must be there for it to happen."""

    kind: ActionKind
    defect: str  # the id of the defect that it mends
    defect_kind: DefectKind
    table: str
    index: str  # "" for a row: the table itself
    primary_key: Entry | None = None
    before: Entry | None = None  # None: nothing is there
    after: Entry | None = None  # None: nothing will be there
    statement: str | None = None  # of REINDEX
    lost: LostRow | None = None  # of RECOVER
    puts: tuple[tuple[str, Entry], ...] = ()  # of RECOVER: entries for the indexes that lack one


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A defect that is left alone, and what a person can do."""

    defect: str
    defect_kind: DefectKind
    table: str
    index: str | None
    primary_key: Entry | None
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Everything a repair of some defects would do and leave."""

    actions: tuple[Action, ...]
    refusals: tuple[Refusal, ...]
    lost_rows: tuple[LostRow, ...] = ()
    deletes_last_copies: bool = False  # of the lost rows: by the request

    @property
    def changes(self) -> int:
        """How many rows and entries would be written."""
        return len(self.actions) + sum(len(action.puts) for action in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """One `scrub repair table`, as typed."""

    table: str
    catalog: Path = DEFAULT_CATALOG
    indexes: tuple[str, ...] = ()  # empty: all
    kinds: tuple[DefectKind, ...] = ()  # empty: all
    from_file: Path | None = None  # the defects of an earlier result, instead of a new check
    where: str | None = None
    max_changes: int = 10_000
    max_fraction: float = 0.05
    rows_per_second: int | None = None
    wait_limit: float = 60.0
    verify: bool = False  # check the whole table afterwards, whatever was chosen to repair
    recover_rows: bool = False  # put rows back that several indexes agree on
    delete_last_copies: bool = False  # delete the entries of such rows instead


@dataclass(frozen=True, slots=True)
class DoneAction:
    """An action, what became of it, and whether its place is in order now."""

    action: Action
    outcome: ActionOutcome
    in_order: bool | None = None  # None: not looked at
    reason: str = ""  # why it was not done, where the outcome does not say it all


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """A repair from beginning to end; without `run`, nothing was changed."""

    table: str
    plan: RepairPlan
    before: RunResult | None  # None: the defects came from a file
    source: Path | None = None  # that file
    found: int = 0  # defects of the check or the file, whether or not they were asked for
    chosen: int = 0  # those that were
    not_in_file: int = 0  # defects that were asked for, and that the file counts but does not tell
    not_looked_at: str | None = None  # why the file's check says nothing, or not everything
    unnamed: str | None = None  # what is known to differ and has no name, so nothing to repair by
    is_executed: bool = False
    run: str | None = None
    done: tuple[DoneAction, ...] = ()
    after: RunResult | None = None
    no_after: str | None = None  # why the check afterwards could not run
    over_limit: str | None = None  # why nothing was written
    only_read: str | None = None  # why nothing can be executed here
    patch: Patch | None = None  # the files that were written instead

    @property
    def counts(self) -> dict[ActionOutcome, int]:
        found: dict[ActionOutcome, int] = {}
        for one in self.done:
            found[one.outcome] = found.get(one.outcome, 0) + 1
        return found

    @property
    def left(self) -> tuple[DoneAction, ...]:
        """Actions whose place is still differ."""
        return tuple(one for one in self.done if one.in_order is False)

    @property
    def can_be_undone(self) -> bool:
        """Whether the journal has a change of this run."""
        return self.run is not None and any(
            one.outcome in (ActionOutcome.DONE, ActionOutcome.PUT_BACK)
            and one.action.kind is not ActionKind.REINDEX
            for one in self.done
        )

    @property
    def is_incomplete(self) -> bool:
        """Whether there may be defects that nobody looked for."""
        before = self.before is not None and self.before.is_incomplete
        return before or self.not_looked_at is not None

    @property
    def exit_code(self) -> int:
        """As docs/exit-codes.md says: a limit, what is left, and what nobody looked at."""
        if self.over_limit:
            return 2
        if self.after is not None:
            return self.after.exit_code
        is_planned = bool(self.plan.actions) and not self.done and not self.patch
        is_left = self.left or self.not_in_file or self.unnamed
        if is_planned or self.plan.refusals or is_left:
            return 1
        return 3 if self.is_incomplete or self.no_after else 0
