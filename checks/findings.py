# SPDX-License-Identifier: Apache-2.0
"""What a run found: numbers by index and by table, and some of the defects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrub.model.defect import Defect, DefectKind
from scrub.model.result import Status


@dataclass(slots=True)
class SlotFindings:
    """One index: what was counted, and why not everything was."""

    rows: int | None = None
    entries: int | None = None
    counts: dict[DefectKind, int] = field(default_factory=dict)
    undecided: int = 0
    transient: int = 0
    unnamed: int = 0  # at least so many differences, known and without a name
    incomplete: str | None = None
    strategy: str | None = None
    notes: list[str] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)
    not_applicable: str | None = None

    @property
    def status(self) -> Status:
        if self.not_applicable:
            return Status.NOT_APPLICABLE
        if any(self.counts.values()) or self.unnamed:
            return Status.DEFECTIVE
        return Status.INCOMPLETE if self.incomplete else Status.CLEAN


@dataclass(slots=True)
class Findings:
    """A whole run; `defects` at most as many as were asked for."""

    slots: Mapping[int, SlotFindings]
    whole: Mapping[str, Mapping[str, SlotFindings]]  # by check that rode along, and by table
    constraints: Mapping[tuple[str, str], SlotFindings] = field(default_factory=dict)
    """By table and name, the constraints that were looked at apart from the scan."""
    defects: Sequence[Defect] = ()
    bytes_read: Mapping[str, int] = field(default_factory=dict)  # by table
