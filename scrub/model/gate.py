# SPDX-License-Identifier: Apache-2.0
"""What a gate knows of earlier defects, what it forgives, and what it decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from scrub.model.defect import Defect, DefectKind


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A person's word that some defects are acceptable until a date."""

    reason: str
    by: str
    until: date
    id: str | None = None  # of one defect; or else of all that the following describe
    table: str | None = None
    index: str | None = None
    kind: DefectKind | None = None
    constraint: str | None = None
    at_most: int | None = None  # more of them than this, and it waives none
    line: int = 0  # in its file


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDefect:
    """A defect and its standing."""

    defect: Defect
    standing: Standing
    severity: Severity = Severity.ERROR
    waiver: Waiver | None = None
    since: date | None = None  # when it was first known


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate decided about a result, and why."""

    exit_code: int
    reasons: tuple[str, ...] = ()  # for the exit code, the most important first
    warnings: tuple[str, ...] = ()  # what does not change it, and somebody should know
    defects: tuple[JudgedDefect, ...] = ()  # those of the result that are shown, in its order
    gone: tuple[KnownDefect, ...] = ()
    counts: Mapping[Standing, int] = field(default_factory=dict)  # exact, whatever is shown
