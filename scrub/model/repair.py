# SPDX-License-Identifier: Apache-2.0
"""What a repair would do, what it did, and what it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from scrub.model.defect import DefectKind, Value

Entry = Mapping[str, Value]
"""An index entry as defects tell it: JSON values by column."""


class ActionKind(StrEnum):
    """How an index is brought to agree with its table; each is taken back by its opposite."""

    PUT = "put"  # the entry that a row lacks
    DELETE = "delete"  # an entry that no row has
    REPLACE = "replace"  # stored columns that are wrong
    KEEP_ONE = "keep_one"  # of several copies
    REINDEX = "reindex"  # an index of the database's own, as a whole


class ActionOutcome(StrEnum):
    """What became of an action when the row was looked at again."""

    DONE = "done"
    ALREADY_RIGHT = "already_right"  # somebody else was first
    ROW_CHANGED = "row_changed"  # what the defect said of the row is no longer so
    CONFLICT = "conflict"  # the index holds something else in this place now
    PUT_BACK = "put_back"  # deleted, and put back for a row that came meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change of one entry, with what must be there for it to happen."""

    kind: ActionKind
    defect: str  # the id of the defect that it mends
    defect_kind: DefectKind
    table: str
    index: str
    primary_key: Entry | None = None
    before: Entry | None = None  # None: nothing is there
    after: Entry | None = None  # None: nothing will be there
    statement: str | None = None  # of REINDEX


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRow:
    """A row that several indexes agree on and the table does not have: probably lost."""

    table: str
    primary_key: Entry
    columns: Entry  # those that the indexes cover
    indexes: tuple[str, ...]
    absent_columns: tuple[str, ...]  # what nobody knows any more


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Everything a repair of some defects would do and leave."""

    actions: tuple[Action, ...]
    refusals: tuple[Refusal, ...]
    lost_rows: tuple[LostRow, ...] = ()
