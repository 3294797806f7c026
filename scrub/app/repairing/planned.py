# SPDX-License-Identifier: Apache-2.0
"""The plan of a repair, with what other indexes hold of rows whose entries it would delete."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from repair.last_copies import siblings_of, without_deletes
from repair.planning import plan_repair
from scrub.errors import ScrubError
from scrub.model.defect import Defect, DefectKind
from scrub.model.progress import Progress, ProgressListener
from scrub.model.repair import RepairPlan, RepairRequest
from scrub.model.result import RunResult, Status
from scrub.model.table import Table
from scrub.stores.repairing import EntriesByKey


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans repairs of one table; `check` looks at all its indexes."""

    request: RepairRequest
    table: Table
    store: EntriesByKey
    check: Callable[[], RunResult]
    on_progress: ProgressListener

    def plan(
        self, chosen: Sequence[Defect], found: Sequence[Defect], looked_at: Collection[str]
    ) -> RepairPlan:
        """What to do about the chosen defects; `looked_at` are indexes that reported all theirs."""
        request = self.request
        if self.table.kv is not None:
            return self._plan_pairs(chosen, found, looked_at)
        return plan_repair(
            chosen,
            {self.table.name: self.table},
            recover_rows=request.recover_rows,
            others=found,
            siblings=siblings_of(chosen, self.table, self.store, looked_at, self._looking_at),
            delete_last_copies=request.delete_last_copies,
        )

    def _looking_at(self, index: str) -> None:
        self.on_progress(Progress(phase=f"looking for rows in {index}"))

    def _plan_pairs(
        self, chosen: Sequence[Defect], found: Sequence[Defect], looked_at: Collection[str]
    ) -> RepairPlan:
        """Nothing finds pairs by their row but a check, so the other indexes are checked."""
        from repair.pair_planning import plan_pair_repair
        from scrub.stores.pair_demands import PairStore

        assert isinstance(self.store, PairStore), "a table of pairs is in a store of pairs"
        is_meant = self.request.delete_last_copies
        names = {index.name for index in self.table.indexes}
        is_dangling = any(defect.kind is DefectKind.DANGLING for defect in chosen)
        unread: str | None = None
        if is_dangling and len(names) > 1 and names - set(looked_at):
            found, unread = self._all_pair_defects()
        ids = {(defect.id, defect.key_hex) for defect in chosen}
        siblings = [
            defect
            for defect in found
            if defect.kind is DefectKind.DANGLING
            and defect.table == self.table.name
            and (defect.id, defect.key_hex) not in ids
        ]
        plan = plan_pair_repair(chosen, self.table, self.store, siblings, is_meant)
        return plan if unread is None or is_meant else without_deletes(plan, unread)

    def _all_pair_defects(self) -> tuple[Sequence[Defect], str | None]:
        """What all indexes tell, and why that may not be everything."""
        try:
            result = self.check()
        except ScrubError as error:
            return (), str(error)
        if result.defects_total > len(result.defects):
            return result.defects, (
                f"there are {result.defects_total:,} defects, more than --max-changes "
                f"{self.request.max_changes:,}"
            )
        reasons = [one.reason for one in result.outcomes if one.is_incomplete]
        return result.defects, reasons[0] or "a check was incomplete" if reasons else None


def indexes_looked_at(before: RunResult, request: RepairRequest) -> set[str]:
    """Indexes of which the check before has reported every dangling entry."""
    if request.where is not None or before.defects_total > len(before.defects):
        return set()
    outcomes = [one for one in before.outcomes if one.index is not None]
    left = {o.index for o in outcomes if o.is_incomplete or o.status is Status.NOT_APPLICABLE}
    return {o.index for o in outcomes if o.index is not None} - {i for i in left if i}
