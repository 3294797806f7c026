# SPDX-License-Identifier: Apache-2.0
"""The parts a scan is cut into, and how many of them make one Spark job.

A job costs about half a second whatever it does; sums are kept after each one. So a run starts with
one job that is enough for most tables, and goes on in jobs of about half a minute.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.numbering import Relation
from checks.task_sums import NumberedSplit
from scrub.model.pace import Limits
from scrub.model.relation import Split

BYTES_PER_ROW_GUESSED = 50


@dataclass(frozen=True, slots=True)
class JobSize:
    """How much work one job gets."""

    first_job_rows: int = 100_000_000
    job_seconds: float = 30.0
    limited_seconds: float = 10.0  # where the pace is limited, which is seen to between jobs


@dataclass(frozen=True, slots=True)
class Part:
    """What is scanned or fails as a whole: a split, a file, or a relation that has no splits."""

    number: int
    relation: Relation
    splits: tuple[Split, ...]

    @property
    def name(self) -> str:
        return self.splits[0].name if self.splits else self.relation.side.facts.relation

    @property
    def rows(self) -> int:
        """About how many rows it has."""
        if not self.splits:
            return self.relation.side.facts.rows or 0
        return sum(_rows(split) for split in self.splits)

    @property
    def bytes(self) -> int:
        """How many bytes it has, of which fewer may be read."""
        if not self.splits:
            return self.relation.side.facts.bytes or 0
        return sum(split.bytes for split in self.splits)


def cut(relations: Sequence[Relation]) -> tuple[Part, ...]:
    """All parts of a run; the order is the same for the same plan, so that a run can resume."""
    parts: list[Part] = []
    for relation in relations:
        for splits in _groups(relation, relation.side.facts.splits):
            parts.append(Part(len(parts), relation, splits))
    return tuple(parts)


def cut_left_out(relations: Sequence[Relation], first: int) -> tuple[Part, ...]:
    """The parts of tables that the scan leaves out, whose numbers begin with `first`."""
    groups = [
        (relation, splits)
        for relation in relations
        if relation.is_table and relation.side.left_out
        for splits in _groups(relation, relation.side.left_out)
    ]
    return tuple(Part(number, *group) for number, group in enumerate(groups, start=first))


def _groups(relation: Relation, splits: Sequence[Split]) -> Iterator[tuple[Split, ...]]:
    if relation.is_native:
        yield from ((split,) for split in splits)
        return
    if not splits:
        # Either only Spark can enumerate it, or it is empty; one reading serves both.
        yield ()
        return
    # Spark reads whole files, so the row groups of one file stay together.
    files: dict[str, list[Split]] = {}
    for split in splits:
        files.setdefault(split.uri, []).append(split)
    yield from (tuple(of_file) for of_file in files.values())


def next_job(
    parts: Sequence[Part],
    size: JobSize,
    rows_per_second: float | None,
    limits: Limits | None = None,
) -> int:
    """How many of the parts to scan in the next job: at least one."""
    budget, seconds = size.first_job_rows, size.job_seconds
    if limits:
        seconds = min(seconds, size.limited_seconds)
    if rows_per_second is not None:
        budget = int(rows_per_second * seconds)
    rows = octets = 0
    for count, part in enumerate(parts, start=1):
        rows, octets = rows + part.rows, octets + part.bytes
        if rows >= budget or (limits and limits.seconds(rows, octets) >= seconds):
            return count
    return len(parts)


def pack(parts: Sequence[Part], tasks_max: int) -> tuple[tuple[NumberedSplit, ...], ...]:
    """Spread native parts over tasks."""
    return spread(numbered(parts), tasks_max)


def numbered(parts: Sequence[Part]) -> list[NumberedSplit]:
    """The splits of native parts, each of which has one."""
    return [NumberedSplit(part.number, part.relation.number, part.splits[0]) for part in parts]


def spread(
    splits: Sequence[NumberedSplit], tasks_max: int
) -> tuple[tuple[NumberedSplit, ...], ...]:
    """Splits by task, largest first to the least loaded."""
    tasks: list[list[NumberedSplit]] = [[] for _ in range(min(tasks_max, len(splits)))]
    loads = [0] * len(tasks)
    for numbered in sorted(splits, key=lambda numbered: _rows(numbered.split), reverse=True):
        lightest = loads.index(min(loads))
        tasks[lightest].append(numbered)
        loads[lightest] += _rows(numbered.split) + 1
    return tuple(tuple(task) for task in tasks)


def _rows(split: Split) -> int:
    return split.bytes // BYTES_PER_ROW_GUESSED if split.rows is None else split.rows
