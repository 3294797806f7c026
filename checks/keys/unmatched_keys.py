# SPDX-License-Identifier: Apache-2.0
"""Rows whose foreign key refers to no row, where the parent has too many keys to travel.

The digests of both sides are brought together by range. A key of which no parent has both digests
is suspected; usually there is none, and all is well. Of keys that one digest tells apart, one
travels. The rows with suspected keys, and the parents
that share a first digest with them, are read again and compared by value: what is named does not
rest on digests alone.

While some parents cannot be read, nothing is violated: rows without a known parent are undecided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from checks.jobs import Jobs
from checks.keys import among_held, by_sql
from checks.keys.findings import KeyFindings, counted, counted_here
from checks.keys.held_keys import HeldKeys
from checks.keys.packed_ranges import brought_together, pairs_in, unpacked, words_in
from checks.keys.repeated_keys import SUSPECTS_MAX
from checks.keys.sifted_rows import every_complete, sifted
from checks.keys.split_rows import Key, SplitRows, is_word
from checks.keys.suspicion import FOUND_SCHEMA, Words, found_in, found_rows, report_rows
from checks.work import Work
from scrub.codec.digest import Salt
from scrub.codec.lazily import digest_sets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_CHILD, _PARENT = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A foreign key, and the key it refers to, column by column."""

    columns: Key
    referred: Key  # of the parent; integers may differ in width

    @property
    def is_word(self) -> bool:
        """Whether one digest tells its keys apart."""
        return is_word(self.columns, self.referred)


def find_unmatched(
    jobs: Jobs,
    child: SplitRows,
    parent: SplitRows,
    reference: Reference,
    primary_key: Key,
    salt: Salt,
    suspects_max: int = SUSPECTS_MAX,
) -> KeyFindings:
    """What was found about one foreign key."""
    if not child.splits:
        return KeyFindings(rows=0)
    found = found_in(
        jobs.arrow(
            brought_together(
                jobs.cores,
                [child, parent],
                [[reference.columns], [reference.referred]],
                salt,
                unmatched_words_in if reference.is_word else unmatched_in,
                FOUND_SCHEMA,
                keys_max=suspects_max,
                pairs=not reference.is_word,
            )
        )
    )
    looked = KeyFindings(
        rows=found.rows(_CHILD),
        unread=found.unread(_CHILD),
        unread_parents=found.unread(_PARENT),
    )
    suspected = found.of_key(0)
    if suspected is not None and not len(suspected):
        return looked
    work_of_children, work_of_parents = _suspicious(
        jobs.cores,
        child.without(found.unread_numbers(_CHILD)),
        parent.without(found.unread_numbers(_PARENT)),
        reference,
        primary_key,
        salt,
        suspected,
    )
    key, referred, whole = reference.columns, reference.referred, not looked.unread_parents
    children, parents = jobs.held(work_of_children), jobs.held(work_of_parents)
    if children is not None and parents is not None:
        here = among_held.unmatched(children, key, primary_key, parents, referred)
        return counted_here(here, looked, parents_whole=whole)
    of_children, of_parents = jobs.frame(work_of_children), jobs.frame(work_of_parents)
    unmatched = by_sql.unmatched(of_children, key, primary_key, of_parents, referred)
    return counted(unmatched, jobs, looked, parents_whole=whole)


def unmatched_in(batches: Iterator["pa.RecordBatch"], keys_max: int) -> Iterator["pa.RecordBatch"]:
    """The keys of a range that no parent has; runs in a Spark task."""
    gathering, reports = unpacked(batches)
    parents = digest_sets.set_of(pairs_in(gathering.get((0, _PARENT), [])))
    unmatched = digest_sets.lacking(parents, pairs_in(gathering.get((0, _CHILD), [])))
    if len(unmatched):
        yield found_rows(0, digest_sets.distinct(unmatched), keys_max)
    yield report_rows(reports)


def unmatched_words_in(
    batches: Iterator["pa.RecordBatch"], keys_max: int
) -> Iterator["pa.RecordBatch"]:
    """The same for keys that the first digest tells apart, which travels alone."""
    gathering, reports = unpacked(batches)
    parents = digest_sets.set_of_firsts(words_in(gathering.get((0, _PARENT), [])))
    children = words_in(gathering.get((0, _CHILD), []))
    unmatched = children[~digest_sets.found_firsts(parents, children)]
    if len(unmatched):
        yield found_rows(0, np.unique(unmatched), keys_max)
    yield report_rows(reports)


def _suspicious(
    cores: int,
    child: SplitRows,
    parent: SplitRows,
    reference: Reference,
    primary_key: Key,
    salt: Salt,
    suspected: Words | None,
) -> tuple[Work, Work]:
    """The rows to compare, of both sides and keyed; all rows if suspects are too many."""
    of_children, of_parents = every_complete, every_complete
    if suspected is not None:
        digests = suspected if reference.is_word else pairs_in([suspected])
        of_children = HeldKeys(digests, salt).has
        of_parents = HeldKeys(
            np.ascontiguousarray(digests.reshape(len(digests), -1)[:, 0]), salt
        ).has
    return (
        sifted(cores, child, reference.columns, primary_key, of_children),
        sifted(cores, parent, reference.referred, (), of_parents),
    )


def find_unmatched_by_sql(
    jobs: Jobs,
    child: "DataFrame",
    parent: "DataFrame",
    reference: Reference,
    primary_key: Key,
    *,
    where: str | None = None,
    parents_whole: bool = True,
) -> KeyFindings:
    """The same for rows that Spark reads; `where` chooses among the children."""
    children = by_sql.keyed(child, reference.columns, primary_key, where)
    parents = by_sql.keyed(parent, reference.referred, ())
    unmatched = by_sql.unmatched(
        children, reference.columns, primary_key, parents, reference.referred
    )
    looked = KeyFindings(rows=jobs.number(children))
    return counted(unmatched, jobs, looked, parents_whole=parents_whole)
