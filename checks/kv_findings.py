# SPDX-License-Identifier: Apache-2.0
"""What a check of pairs is asked beyond its plan, and what it found."""

from collections.abc import Callable
from dataclasses import dataclass, field

from checks.findings import SlotFindings
from checks.kv_plan import KvPlan
from scrub.model.defect import Defect, DefectKind


@dataclass(slots=True)
class KvFindings:
    """What was found in the pairs of one table."""

    pairs: int = 0
    bytes_read: int = 0
    physical: SlotFindings = field(default_factory=SlotFindings)
    indexes: dict[str, SlotFindings] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)

    def place_of(self, kind: DefectKind, index: str | None, physical: bool) -> SlotFindings:
        """Where a key that is there twice counts: an entry in its index, a row in the table.

        What is not asked for counts in what is.
        """
        if kind is DefectKind.DUPLICATE_ENTRY and index in self.indexes:
            return self.indexes[index]
        if physical or not self.indexes:
            return self.physical
        return next(iter(self.indexes.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Looking again: when, and at what."""

    seconds: float
    sleep: Callable[[float], None]
    plan_again: Callable[[], KvPlan]  # the same plan at later snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSettings:
    """How to run, beyond what is planned."""

    limit: int
    redact: bool
    physical: bool = True  # whether the physical check was asked for
    settle: Settle | None = None
