# SPDX-License-Identifier: Apache-2.0
"""Slices of a table's primary key, and how far each has been read."""

from dataclasses import dataclass

from scrub.model.stream.coverage import NOTHING, HistorySnapshot, MustCover
from scrub.model.stream.keys import Key, Slice, Stretch


@dataclass(frozen=True, slots=True)
class Floor:
    """A stretch of keys and the snapshot that it was read at, also for keys that were absent.

    It is kept until the stream is past everything that the snapshot may show.
    """

    stretch: Stretch
    snapshot: HistorySnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Vnode:
    """A contiguous slice of the primary key, read in the order of keys."""

    slice: Slice
    passed_to: Key | None = None  # the last key that was read; None: none yet
    is_finished: bool = False
    floors: tuple[Floor, ...] = ()  # in the order of keys, without overlaps
    must_cover: MustCover = NOTHING
    rows_read: int = 0
    rows_expected: int = 0  # about; for progress only

    @property
    def passed(self) -> Stretch | None:
        """The keys whose history was read.

        Of a finished vnode these are all keys, also behind its last row: a row that is inserted
        there would otherwise never be in the index.
        """
        if self.is_finished:
            return Stretch()
        return None if self.passed_to is None else Stretch(None, self.passed_to)
