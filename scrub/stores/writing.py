# SPDX-License-Identifier: Apache-2.0
"""What a writable store offers: writes that say what they expect to find. There is no plain put.

Each call is one transaction: all of its entries are judged and written at one moment, whoever else
writes. An entry that finds something else in its place is left alone and reported as a conflict; it
does not stop the others.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from scrub.model.entry_shape import EntryShape


class Outcome(StrEnum):
    """What became of one entry."""

    WRITTEN = "written"  # put, replaced or deleted, as was asked
    UNCHANGED = "unchanged"  # it was like that already
    CONFLICT = "conflict"  # something else is there


@runtime_checkable
class WritableStore(Protocol):
    """A store that can be written to, under conditions.

    Entries come as Arrow tables with the shape's columns. Outcomes come in the entries' order.
    Equality is that of checks: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0.
    """

    def init_put(
        self, shape: EntryShape, entries: pa.Table, *, fail_on_tombstones: bool
    ) -> Sequence[Outcome]:
        """Write entries where there is none.

        WRITTEN where the key was free, UNCHANGED where the same entry is there, CONFLICT where
        another one is. A tombstone counts as free, or with `fail_on_tombstones` as a conflict.
        """

    def delete_if_equal(self, shape: EntryShape, entries: pa.Table) -> Sequence[Outcome]:
        """Delete entries that are still as given.

        WRITTEN where it was and is gone now, UNCHANGED where there was none, CONFLICT where
        another one is. Where the relation keeps tombstones, one takes the entry's place.
        """

    def replace_if_equal(
        self, shape: EntryShape, before: pa.Table, after: pa.Table
    ) -> Sequence[Outcome]:
        """Replace entries, row by row, that are still as given by others of the same key.

        WRITTEN where `before` was there, UNCHANGED where `after` is there already, CONFLICT
        otherwise, also where there is nothing.
        """

    def read_entries(self, shape: EntryShape, keys: pa.Table) -> Sequence[dict[str, Any] | None]:
        """The entries that have the keys of the given ones; None where there is none.

        `keys` holds the indexed columns and the suffix. A tombstone reads as None.
        """
