# SPDX-License-Identifier: Apache-2.0
"""What was found out about one key: how many rows violate it, which ones, and what was not read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checks.jobs import Jobs
from checks.keys.among_held import Named, named_place
from checks.keys.split_rows import Key
from scrub.codec.json_values import from_text, key_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

NAMED_SCHEMA = "primary_key array<string>, key array<string>, copies bigint"
"""A row for each violation: canonical texts of the row's primary key and of the violated key, and
how many rows have both. For a primary key, the two are the same."""

_VALUE_SHOWN_MAX = 60


@dataclass(frozen=True, slots=True)
class UnreadSplit:
    """A split that could not be read, by its position in what was given, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFindings:
    """One key of one table. Violations that were found stand, whatever was not read."""

    rows: int  # looked at
    violations: int = 0
    undecided: int = 0  # rows whose parent may be in what was not read
    unread: tuple[UnreadSplit, ...] = ()
    unread_parents: tuple[UnreadSplit, ...] = ()
    frame: "DataFrame | None" = None  # the violations, as NAMED_SCHEMA, where Spark has them
    held: tuple[Named, ...] = ()  # the same where they are held here

    def named(self, jobs: Jobs, limit: int | None) -> "Iterator[Named | Row]":
        """The violations in the order of their keys: at most so many, or all of them."""
        yield from sorted(self.held, key=named_place)[:limit]
        if self.frame is None or limit == 0:
            return
        ordered = self.frame.orderBy("primary_key", "key")
        if limit is None:
            yield from jobs.each(ordered)
        else:
            yield from jobs.rows(ordered.limit(limit))

    def release(self) -> None:
        """Give up what Spark keeps of the violations, after they have been named."""
        if self.frame is not None:
            self.frame.unpersist()


def counted_here(
    violating: Iterable[Named], findings: KeyFindings, *, parents_whole: bool = True
) -> KeyFindings:
    """The findings with violations that are held here; see `counted`."""
    held = tuple(violating)
    if parents_whole:
        return replace(findings, violations=len(held), held=held)
    return replace(findings, undecided=len(held))


def counted(
    violating: "DataFrame", jobs: Jobs, findings: KeyFindings, *, parents_whole: bool = True
) -> KeyFindings:
    """The findings with the violations in a frame of NAMED_SCHEMA, which is computed once.

    Without all parents nothing is violated: what has no known parent is undecided.
    """
    kept = violating.persist()
    number = 0
    try:
        number = jobs.number(kept)
    finally:
        if not (number and parents_whole):
            kept.unpersist()
    if parents_whole:
        return replace(findings, violations=number, frame=kept if number else None)
    return replace(findings, undecided=number)


def refers_to_nothing(key: Key, texts: Sequence[str | None], parent: str) -> str:
    """What is wrong with a row whose foreign key has no parent, in every engine's words."""
    return f"{_key_text(key, texts)} refers to no row of {parent}"


def is_shared(key: Key, texts: Sequence[str | None]) -> str:
    """What is wrong with a row whose unique key another row has as well."""
    return f"another row has {_key_text(key, texts)}"


def is_repeated(copies: int) -> str:
    """What is wrong with a primary key that several rows have."""
    return f"{copies} rows have this primary key"


def _key_text(key: Key, texts: Sequence[str | None]) -> str:
    """A key as reports show its values, long ones cut off: `customer_id=17, region=eu`."""
    pairs = zip(key, texts, strict=True)
    values = (key_value(from_text(text, column.type)) for column, text in pairs)
    return ", ".join(
        f"{column.name}={_shortened(str(value))}" for column, value in zip(key, values, strict=True)
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _VALUE_SHOWN_MAX else f"{text[:_VALUE_SHOWN_MAX]}..."
