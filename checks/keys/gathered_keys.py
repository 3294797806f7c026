# SPDX-License-Identifier: Apache-2.0
"""The keys of parents, gathered so that they can travel to the tasks that read their children."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from checks.jobs import Jobs
from checks.keys.findings import UnreadSplit
from checks.keys.held_keys import HeldKeys
from checks.keys.packed_ranges import (
    Divided,
    Words,
    brought_together,
    in_ranges,
    pairs_in,
    unpacked,
    words_in,
)
from checks.keys.range_places import places_of
from checks.keys.split_rows import Key, SplitRows, is_word
from checks.keys.suspicion import FOUND_SCHEMA, Found, found_in, found_rows, report_rows
from scrub.codec.digest import Salt
from scrub.codec.lazily import digest_sets

_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class ParentRows:
    """The rows of a parent, and the key that others refer to."""

    rows: SplitRows
    key: Key

    @property
    def key_bytes(self) -> int:
        """How many bytes a key takes on its way to tasks; a set takes two to four times as many."""
        return _WORD_BYTES if is_word(self.key) else 2 * _WORD_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredKeys:
    """The keys of a parent. Nothing may be called unmatched unless they are whole."""

    held: HeldKeys | None  # None: there are too many to travel
    rows: int = 0  # that were read
    unread: tuple[UnreadSplit, ...] = ()

    @property
    def are_whole(self) -> bool:
        """Whether these are the keys of all rows."""
        return self.held is not None and not self.unread


def gather_keys(
    jobs: Jobs, parents: Sequence[ParentRows], salt: Salt, keys_max: int
) -> list[GatheredKeys]:
    """The digests of each parent's keys, made by tasks; rows with a NULL in the key have none.

    Parents whose rows somebody has counted are read in one job. Those with more rows than keys may
    travel are not read: nearly all rows have a key of their own, for it is their primary key.
    """
    found = [GatheredKeys(held=None) for _ in parents]
    few = []
    for number, parent in enumerate(parents):
        rows = parent.rows.rows_known
        if rows is None:
            found[number] = _gather_at_most(jobs, parent, salt, keys_max)
        elif rows <= keys_max:
            few.append(number)
    for number, gathered in zip(
        few, _gather(jobs, [parents[number] for number in few], salt), strict=True
    ):
        found[number] = gathered
    return found


def _gather(jobs: Jobs, parents: Sequence[ParentRows], salt: Salt) -> list[GatheredKeys]:
    """The keys of rows that are known to be few: what tasks read goes to the driver as it is."""
    if not any(parent.rows.splits for parent in parents):
        return [GatheredKeys(held=_held(parent, [], salt)) for parent in parents]
    undivided = Divided(
        sides=tuple(parent.rows for parent in parents),
        keys=tuple((parent.key,) for parent in parents),
        salt=salt,
        ranges=1,
        places=places_of(1),
        pairs=tuple(not is_word(parent.key) for parent in parents),
        times_max=1,
    )
    gathering, reports = unpacked(jobs.arrow(in_ranges(jobs.cores, undivided)).to_batches())
    found = found_in(pa.Table.from_batches([report_rows(reports)]))
    return [
        GatheredKeys(
            held=_held(parent, gathering.get((0, side), []), salt),
            rows=found.rows(side),
            unread=found.unread(side),
        )
        for side, parent in enumerate(parents)
    ]


def _gather_at_most(jobs: Jobs, parent: ParentRows, salt: Salt, keys_max: int) -> GatheredKeys:
    """The keys of rows that nobody has counted: tasks make them distinct, and may give up."""
    found: Found = found_in(
        jobs.arrow(
            brought_together(
                jobs.cores,
                [parent.rows],
                [[parent.key]],
                salt,
                partial(distinct_in, words=is_word(parent.key)),
                FOUND_SCHEMA,
                keys_max=keys_max,
                pairs=not is_word(parent.key),
            )
        )
    )
    words = found.of_key(0)
    held = None if words is None else _held(parent, [words], salt)
    if held is not None and len(held) > keys_max:
        held = None
    return GatheredKeys(held=held, rows=found.rows(0), unread=found.unread(0))


def distinct_in(
    batches: Iterator[pa.RecordBatch], keys_max: int, *, words: bool = False
) -> Iterator[pa.RecordBatch]:
    """Each key of a range once; runs in a Spark task."""
    gathering, reports = unpacked(batches)
    for (number, _), digests in gathering.items():
        once = np.unique(words_in(digests)) if words else digest_sets.distinct(pairs_in(digests))
        yield found_rows(number, once, keys_max)
    yield report_rows(reports)


def _held(parent: ParentRows, digests: Sequence[Words], salt: Salt) -> HeldKeys:
    return HeldKeys(words_in(digests) if is_word(parent.key) else pairs_in(digests), salt)
