# SPDX-License-Identifier: Apache-2.0
"""What a change does to single keys."""

from dataclasses import dataclass

from scrub.model.stream.changes import Change
from scrub.model.stream.keys import Key


@dataclass(frozen=True, slots=True)
class Effect:
    """One key of a change: its row is gone, or is as the change says."""

    change: Change
    key: Key
    is_deletion: bool


def effects_of(change: Change) -> tuple[Effect, ...]:
    """A change of the key is a deletion and an insertion, which are judged apart.

    One of the two places may have been passed and the other not.
    """
    removed = () if change.removed is None else (Effect(change, change.removed, True),)
    put = () if change.put is None else (Effect(change, change.put, False),)
    return (*removed, *put)
