# SPDX-License-Identifier: Apache-2.0
"""Keys that several rows have: of a unique constraint, or of the primary key.

One job over the splits serves all keys of a table. It finds the first digests that occur more than
once; usually there is none, and all is well. Rows with such a digest are read again, and compared
by value: two keys may share a digest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from checks.jobs import Jobs
from checks.keys import among_held, by_sql
from checks.keys.among_held import Named
from checks.keys.findings import KeyFindings, counted, counted_here
from checks.keys.held_keys import HeldKeys
from checks.keys.packed_ranges import brought_together, unpacked
from checks.keys.sifted_rows import every_complete, sifted
from checks.keys.split_rows import Key, SplitRows
from checks.keys.suspicion import FOUND_SCHEMA, Found, found_in, found_rows, report_rows
from scrub.codec.digest import Salt
from scrub.codec.lazily import digest_sets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SUSPECTS_MAX = 4_000_000
"""More repeated keys than these do not travel to tasks; Spark compares all rows by value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatableKey:
    """A key that no two rows may have."""

    columns: Key
    is_primary: bool = False


def find_repeated(
    jobs: Jobs,
    rows: SplitRows,
    keys: Sequence[RepeatableKey],
    primary_key: Key,
    salt: Salt,
    suspects_max: int = SUSPECTS_MAX,
) -> list[KeyFindings]:
    """What was found about each key, in the order given."""
    if not rows.splits:
        return [KeyFindings(rows=0) for _ in keys]
    found = found_in(
        jobs.arrow(
            brought_together(
                jobs.cores,
                [rows],
                [[key.columns for key in keys]],
                salt,
                repeated_in,
                FOUND_SCHEMA,
                keys_max=suspects_max,
                pairs=False,
                times_max=2,
            )
        )
    )
    readable = rows.without(found.unread_numbers(0))
    return [
        _findings(jobs, readable, key, primary_key, salt, found, number)
        for number, key in enumerate(keys)
    ]


def repeated_in(batches: Iterator["pa.RecordBatch"], keys_max: int) -> Iterator["pa.RecordBatch"]:
    """The digests of a range that occur more than once; runs in a Spark task."""
    gathering, reports = unpacked(batches)
    for (number, _), digests in gathering.items():
        suspected = digest_sets.repeated(np.concatenate(digests))
        if len(suspected):
            yield found_rows(number, suspected, keys_max)
    yield report_rows(reports)


def _findings(
    jobs: Jobs,
    rows: SplitRows,
    key: RepeatableKey,
    primary_key: Key,
    salt: Salt,
    found: Found,
    number: int,
) -> KeyFindings:
    looked = KeyFindings(rows=found.rows(0), unread=found.unread(0))
    suspected = found.of_key(number)
    if suspected is not None and not len(suspected):
        return looked
    beside = () if key.is_primary else primary_key
    if suspected is None:
        frame = jobs.frame(sifted(jobs.cores, rows, key.columns, beside, every_complete))
        return _compared(jobs, frame, key, primary_key, looked)
    choice = HeldKeys(suspected, salt).has
    work = sifted(jobs.cores, rows, key.columns, beside, choice)
    if (few := jobs.held(work)) is not None:
        return counted_here(_violating_here(few, key, primary_key), looked)
    return counted(_violating(jobs.frame(work), key, primary_key), jobs, looked)


def find_repeated_by_sql(
    jobs: Jobs,
    rows: "DataFrame",
    keys: Sequence[RepeatableKey],
    primary_key: Key,
    where: str | None = None,
) -> list[KeyFindings]:
    """The same for rows that Spark reads; `where` chooses among them."""
    looked = KeyFindings(rows=jobs.number(rows if where is None else rows.where(where)))
    return [
        _compared(
            jobs,
            by_sql.keyed(rows, key.columns, () if key.is_primary else primary_key, where),
            key,
            primary_key,
            looked,
        )
        for key in keys
    ]


def _compared(
    jobs: Jobs, rows: "DataFrame", key: RepeatableKey, primary_key: Key, looked: KeyFindings
) -> KeyFindings:
    """What Spark finds in a keyed frame: by hash first, and by value where hashes are equal."""
    suspected = by_sql.suspects(rows, key.columns).persist()
    try:
        if not jobs.number(suspected):
            return looked
        few = by_sql.suspicious(rows, suspected, key.columns)
        return counted(_violating(few, key, primary_key), jobs, looked)
    finally:
        suspected.unpersist()


def _violating_here(few: "pa.Table", key: RepeatableKey, primary_key: Key) -> Iterator[Named]:
    if key.is_primary:
        return among_held.repeated(few, key.columns)
    return among_held.sharing(few, key.columns, primary_key)


def _violating(few: "DataFrame", key: RepeatableKey, primary_key: Key) -> "DataFrame":
    if key.is_primary:
        return by_sql.repeated(few, key.columns)
    return by_sql.sharing(few, key.columns, primary_key)
