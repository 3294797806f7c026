# SPDX-License-Identifier: Apache-2.0
"""What the stages of one run share: the source of entries, and what was found so far."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from checks.choose import Chosen
from checks.failures import Failure, reason_for
from checks.findings import SlotFindings
from checks.finished_parts import FinishedParts
from checks.jobs import Jobs
from checks.named_defects import HeldDefect
from checks.numbering import Relation, Slot
from checks.run_settings import RunSettings
from checks.shown_defects import ShownDefects
from checks.source import EntrySource
from checks.unnamed import Unnamed
from scrub.model.defect import Defect
from scrub.model.plan import CheckPlan
from scrub.model.progress import Progress
from scrub.stores.base import ComparingStore


@dataclass(slots=True, kw_only=True)
class Run:
    """One run; only its stages change it."""

    plan: CheckPlan
    settings: RunSettings
    source: EntrySource
    jobs: Jobs
    finished: FinishedParts
    shown: ShownDefects
    found: dict[int, SlotFindings]  # by slot
    comparing: dict[int, ComparingStore]  # by slot, the database that compares it
    joined: Chosen = field(default_factory=dict)  # indexes that are joined whatever sums would say
    constraints: dict[tuple[str, str], SlotFindings] = field(default_factory=dict)
    unnamed: Unnamed = field(default_factory=Unnamed)
    began: float = field(default_factory=time.monotonic)

    def relations_of(self, slot: Slot) -> tuple[Relation, Relation]:
        """The table's relation and the index's."""
        return self.source.relations[slot.of_table], self.source.relations[slot.of_index]

    def is_whole(self, slot: Slot) -> bool:
        """Whether everything that an index is judged by was read."""
        return self.source.unread.is_whole_for(slot, *self.relations_of(slot))

    def give_up(self, slots: Sequence[Slot], error: Failure) -> None:
        """Indexes that cannot be checked any further, and why."""
        reason = reason_for(error, self.settings.redact)
        for slot in slots:
            self.source.unread.slots[slot.number] = reason

    def left(self, slots: Sequence[Slot]) -> list[Slot]:
        """Those that were not given up."""
        return [slot for slot in slots if slot.number not in self.source.unread.slots]

    def report(self, phase: str, rows_done: int = 0, rows_total: int | None = None) -> None:
        """Say how far the run has come."""
        self.settings.on_progress(
            Progress(
                phase=phase,
                rows_done=rows_done,
                rows_total=rows_total,
                seconds=time.monotonic() - self.began,
            )
        )

    def as_defect(self, row: HeldDefect) -> Defect:
        """A named defect in the words of the model."""
        return self.source.to_defect(row, self.source.slots[row["slot"]])
