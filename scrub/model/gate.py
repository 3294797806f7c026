# SPDX-License-Identifier: Apache-2.0
"""What a gate knows of earlier defects, what it forgives, and what it decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path

from scrub.model.defect import Defect, DefectKind, same_content
from scrub.model.definition import Definition
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult

CHECK_NAMES = ("index", "physical", "constraint")
"""The checks that a gate can require."""

BASELINE_FILE = "scrub-baseline.jsonl"
WAIVERS_FILE = "scrub-waivers.yaml"
"""Where they are unless somebody says otherwise: beside the catalog."""

_MILLION = 1_000_000


class Standing(StrEnum):
    """How a defect stands against what was known. The strings appear in reports."""

    NEW = "new"  # nobody knew it
    CHANGED = "changed"  # the same place as a known one, but something else is wrong there
    KNOWN = "known"  # in the baseline
    WAIVED = "waived"  # somebody answers for it, until a date
    GONE = "gone"  # in the baseline, and not found any more


class Severity(StrEnum):
    """How much a defect weighs; only errors fail a gate by themselves."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class DefectGroup:
    """What waivers and rules choose defects by."""

    table: str
    index: str | None
    constraint: str | None
    kind: DefectKind

    @property
    def place(self) -> str:
        """`orders.by_email`, `orders (positive_amount)`, or `orders`."""
        name = self.table if self.index is None else f"{self.table}.{self.index}"
        return name if self.constraint is None else f"{name} ({self.constraint})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A person's word that some defects are acceptable until a date."""

    reason: str
    by: str
    until: date
    id: str | None = None  # of one defect; or else of all that the choice below describes
    content: str | None = None  # what is wrong there; None: whatever it is
    table: str | None = None
    index: str | None = None
    kind: DefectKind | None = None
    constraint: str | None = None
    at_most: int | None = None  # more of them than this, and it waives none
    line: int = 0  # in its file

    def covers(self, group: DefectGroup) -> bool:
        """Whether it is about defects of this group; one of a single defect is about none."""
        return self.id is None and is_within(group, self)

    def is_of(self, content: str) -> bool:
        """Whether it is about what is wrong now; one that does not say is about anything."""
        return self.content is None or same_content(content, self.content)

    def is_expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True, slots=True)
class Threshold:
    """How many defects are accepted: a count, or so many for each million rows."""

    number: float
    per_million: bool = False

    def is_exceeded(self, count: int, rows: int | None) -> bool:
        """Whether so many are too many; of an unknown number of rows, every defect is."""
        if not self.per_million:
            return count > self.number
        return count > self.number * (rows or 0) / _MILLION

    def __str__(self) -> str:
        return f"{self.number:g} per million" if self.per_million else f"{self.number:,.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRule:
    """What the catalog says of the defects it describes; it counts them together."""

    table: str | None = None
    index: str | None = None
    kind: DefectKind | None = None
    constraint: str | None = None
    fail_above: Threshold | None = None
    warn_above: Threshold | None = None
    severity: Severity = Severity.ERROR
    line: int = 0  # in the catalog; 0: the rule of what no other one describes

    @property
    def fails_above(self) -> Threshold | None:
        """The number above which the gate fails; None if it never does."""
        if self.fail_above is None and self.severity is Severity.ERROR:
            return Threshold(0)
        return self.fail_above


def is_within(group: DefectGroup, described: "Waiver | GateRule") -> bool:
    """Whether a description fits a group; what it leaves open fits everything."""
    wanted = (described.table, described.index, described.constraint, described.kind)
    found = (group.table, group.index, group.constraint, group.kind)
    return all(of is None or of == is_ for of, is_ in zip(wanted, found, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A check that must have looked: of a table, of one of its indexes or constraints."""

    check: str
    table: str | None = None  # None, in the catalog: every table that is gated
    index: str | None = None
    constraint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """`gate:` of a catalog."""

    rules: tuple[GateRule, ...] = ()  # the first one that describes a defect counts it
    require: tuple[Requirement, ...] | None = None  # None: every index
    max_age: timedelta = timedelta(days=1)  # of a result that was made before


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDefect:
    """A line of a baseline: enough to recognise a defect, and nothing of the data."""

    id: str
    content: str
    kind: DefectKind
    table: str
    index: str | None
    constraint: str | None
    since: date

    @property
    def group(self) -> DefectGroup:
        return DefectGroup(self.table, self.index, self.constraint, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What was known when it was written, and of which definitions."""

    salt: str  # of the content digests
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    known: tuple[KnownDefect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDefect:
    """A defect and its standing."""

    defect: Defect
    standing: Standing
    severity: Severity = Severity.ERROR
    waiver: Waiver | None = None  # of a waived one; or the expired one that no longer waives it
    since: date | None = None  # when it was first known
    content: str = ""  # a digest of what is wrong, salted like the baseline
    fails: bool = False  # it is one of those for which the gate fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate decided about a result, and why."""

    exit_code: int
    reasons: tuple[str, ...] = ()  # for the exit code, the most important first
    warnings: tuple[str, ...] = ()  # what does not change it, and somebody should know
    defects: tuple[JudgedDefect, ...] = ()  # those of the result that are shown, in its order
    gone: tuple[KnownDefect, ...] = ()
    missing: tuple[str, ...] = ()  # what was required and not looked at, and why
    counts: Mapping[Standing, int] = field(default_factory=dict)  # exact, whatever is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """One `scrub gate`, as typed."""

    check: CheckRequest
    baseline: Path | None = None  # None: the usual file beside the catalog
    from_file: Path | None = None  # a result to judge, instead of a new check
    write_baseline: bool = False  # what is found becomes known
    prune: bool = False  # what is gone is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A result and what a gate decided about it."""

    result: RunResult
    verdict: Verdict
    told: tuple[str, ...] = ()  # what was done beside it
