# SPDX-License-Identifier: Apache-2.0
"""Why a Delta index does not take a change, or not so that it can be undone; reads only."""

from collections.abc import Mapping, Sequence

from scrub.errors import RelationMismatch
from scrub.model.repair import Action, ActionKind
from scrub.model.table import Column, Index
from scrub.stores.delta.images import demanding_columns
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.marks import BuildState, build_state
from scrub.stores.delta.rows import require_columns
from scrub.stores.delta.snapshot import DeltaSnapshot, require_writable
from scrub.stores.repairing import Reason

_WRITE_BY_HAND = "build the index again, or write to it with the system that owns it"


def hindrances_of(lake: Lake, index: Index, actions: Sequence[Action]) -> list[Reason | None]:
    """For each action the reason against it, if there is one."""
    try:
        with lake.latest(index) as snapshot:
            require_writable(snapshot)
            require_staying(snapshot)
            _require_removable(snapshot)
            # Types that only Spark knows do not matter here, so it need not start.
            known = [Column(name=c.name, type=c.type) for c in index.entry if c.type]
            require_columns(snapshot, known)
            demanding = demanding_columns(snapshot, [c.name for c in index.entry])
            outside = [not_in_a_partition(snapshot, a.after or {}) for a in actions]
    except RelationMismatch as error:
        return [(str(error), error.hint or _WRITE_BY_HAND) for _ in actions]
    if not demanding:
        return outside
    never_null = (
        f"column {demanding[0]} of Delta table {index.relation} is never NULL, and its value is "
        "unknown",
        "let the column be NULL, or put the entry by hand",
    )
    return [
        never_null if action.kind is ActionKind.PUT else unwritable
        for action, unwritable in zip(actions, outside, strict=True)
    ]


def require_staying(snapshot: DeltaSnapshot) -> None:
    """Refuse an index that somebody else is making or removing as a whole."""
    state = build_state(snapshot)
    if state is not BuildState.PUBLIC:
        raise RelationMismatch(
            f"Delta table {snapshot.relation} is {state}: it is not repaired until that is over",
            hint="let the build end, or cancel it; scrub backfill status shows it",
        )


def not_in_a_partition(snapshot: DeltaSnapshot, row: Mapping[str, object]) -> Reason | None:
    """Why a row cannot be written: the format reads an empty text of a partition as NULL."""
    for name in snapshot.partition_columns:
        if row.get(name) == "":
            return (
                f"Delta table {snapshot.relation} is partitioned by {name}, and an empty text "
                "there would be read as NULL",
                f"partition the table by another column than {name}, or give the row another value",
            )
    return None


def _require_removable(snapshot: DeltaSnapshot) -> None:
    """What is put must be removable: for an undo, if for nothing else."""
    if snapshot.configuration.get("delta.appendOnly", "false").lower() == "true":
        raise RelationMismatch(
            f"Delta table {snapshot.relation} has the property delta.appendOnly, so nothing can "
            "be removed from it or replaced in it",
            hint="unset the property for the repair, or build the index again",
        )
