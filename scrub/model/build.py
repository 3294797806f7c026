# SPDX-License-Identifier: Apache-2.0
"""How an index comes to be while its table is written to: methods, states, and what follows what.

In each state, writers of the table do one of four things with the index; the builder advances only
when every writer that could still do otherwise is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """The two ways to build an index in a database."""

    INIT_PUT = "init_put"  # writers keep the new index while it is filled
    MERGE = "merge"  # writers keep a temporary one, which is merged in afterwards


class State(StrEnum):
    """How far a build has come. The names of documents 000, 001 and 002 are kept."""

    DELETE_ONLY = "delete_only"
    WRITE_AND_DELETE = "write_and_delete"
    BACKFILLING = "backfilling"
    MERGE_DELETE_ONLY = "merge_delete_only"
    MERGING = "merging"
    VALIDATING = "validating"
    PUBLIC = "public"
    REVERSING = "reversing"  # what was made is being removed
    REVERSED = "reversed"


class Duty(StrEnum):
    """What a write to the table does to an index."""

    NOTHING = "nothing"
    DELETE = "delete"  # what is there of the row is gone; nothing is put
    TOMBSTONE = "tombstone"  # what is deleted leaves a tombstone; nothing is put
    PUT_AND_TOMBSTONE = "put_and_tombstone"
    PUT_AND_DELETE = "put_and_delete"
    RECORD = "record"  # put, and leave a tombstone, in a temporary index: it preserves deletes
    ENFORCE = "enforce"  # put and delete, and refuse what a unique index forbids


@dataclass(frozen=True, slots=True)
class Duties:
    """What writers owe the new index and the temporary one."""

    index: Duty
    temporary: Duty = Duty.NOTHING


INIT_PUT_DUTIES: Mapping[State, Duties] = {
    State.DELETE_ONLY: Duties(Duty.TOMBSTONE),
    State.WRITE_AND_DELETE: Duties(Duty.PUT_AND_TOMBSTONE),
    State.BACKFILLING: Duties(Duty.PUT_AND_TOMBSTONE),
    State.VALIDATING: Duties(Duty.PUT_AND_DELETE),
    State.PUBLIC: Duties(Duty.ENFORCE),
}

MERGE_DUTIES: Mapping[State, Duties] = {
    # Deletions are not recorded before puts are: merged, they would delete what was put meanwhile.
    # Nor may one stay that somebody in the next state recorded, when a row is put there again.
    State.DELETE_ONLY: Duties(Duty.NOTHING, Duty.DELETE),
    State.WRITE_AND_DELETE: Duties(Duty.NOTHING, Duty.RECORD),
    State.BACKFILLING: Duties(Duty.NOTHING, Duty.RECORD),
    State.MERGE_DELETE_ONLY: Duties(Duty.TOMBSTONE, Duty.RECORD),
    State.MERGING: Duties(Duty.PUT_AND_TOMBSTONE, Duty.RECORD),
    State.VALIDATING: Duties(Duty.PUT_AND_DELETE),
    State.PUBLIC: Duties(Duty.ENFORCE),
}

DUTIES: Mapping[Method, Mapping[State, Duties]] = {
    Method.INIT_PUT: INIT_PUT_DUTIES,
    Method.MERGE: MERGE_DUTIES,
}


def duties_in(method: Method, state: State) -> Duties:
    """What writers owe the indexes; nothing any more once a build is being reversed."""
    return DUTIES[method].get(state, Duties(Duty.NOTHING))


def next_state(method: Method, state: State) -> State:
    """What follows a state when its work is done."""
    order = list(DUTIES[method])
    return order[order.index(state) + 1]
