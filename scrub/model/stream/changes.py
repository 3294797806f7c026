# SPDX-License-Identifier: Apache-2.0
"""What a change source reports about the rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scrub.model.stream.keys import Key

Position: TypeAlias = tuple[int, ...]
"""Where a change is in its partition. Later changes have greater positions."""

Positions: TypeAlias = Mapping[str, Position]
"""A position in each partition."""

Values: TypeAlias = tuple[Any, ...]
"""The columns of a row, in the order that the source carries them."""

ONE_PARTITION = ""
"""The name of the partition of a source that has only one."""


class _Unchanged:
    """A value that the source left out because the update did not change it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCHANGED"

    def __reduce__(self) -> str:
        return "UNCHANGED"  # one object in every process


UNCHANGED = _Unchanged()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one row: a key that is no longer there, a key that is there now, or both.

    An insertion only puts, a deletion only removes. An update puts, and if it changed the key, it
    removes the old one. TRUNCATE removes everything.
    """

    position: Position
    removed: Key | None = None
    put: Key | None = None
    values: Values = ()  # of the row that was put
    is_truncate: bool = False
    partition: str = ONE_PARTITION
    transaction: int | None = None  # its id, where snapshots tell transactions apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What was read from a source at once; transactions are never cut."""

    changes: tuple[Change, ...] = ()
    heard_to: Positions = field(default_factory=dict)  # nothing at or before it is still to come
    resume: str = ""  # where the source continues; only the source understands it
