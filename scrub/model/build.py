# SPDX-License-Identifier: Apache-2.0
"""How an index is built while its table is written to: methods, states, and their order.

The state says what writers of the table do to the index. The builder advances only when all writers
that may still act as in an earlier state have ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """The two ways to build an index in a database."""

    INIT_PUT = "init_put"  # writers keep the new index up to date while it is filled
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
    DELETE = "delete"  # the entry of the row is deleted; nothing is put
    TOMBSTONE = "tombstone"  # a deleted entry leaves a tombstone; nothing is put
    PUT_AND_TOMBSTONE = "put_and_tombstone"
    PUT_AND_DELETE = "put_and_delete"
    RECORD = "record"  # put, and leave tombstones, in a temporary index that preserves deletes
    ENFORCE = "enforce"  # put and delete, and refuse duplicates in a unique index


@dataclass(frozen=True, slots=True)
class Duties:
    """What writers do to the new index and to the temporary one."""

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
    """What writers do to the indexes: nothing once a build is being reversed."""
    return DUTIES[method].get(state, Duties(Duty.NOTHING))


def next_state(method: Method, state: State) -> State:
    """The state after this one."""
    order = list(DUTIES[method])
    return order[order.index(state) + 1]
