# SPDX-License-Identifier: Apache-2.0
"""An entry source that holds its differences in memory: stages are tried without Spark."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Never, cast

import numpy as np
from pyspark.sql import Row

from checks.choose import Chosen
from checks.failures import Failure
from checks.findings import SlotFindings
from checks.finished_parts import FinishedParts
from checks.jobs import Jobs
from checks.named_defects import Counts, NamedDefects, count
from checks.numbering import Slot
from checks.riding import Riding
from checks.run_settings import RunSettings
from checks.run_state import Run
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.source import Decided, EntrySource, Named
from checks.unread import Unread
from scrub.model.defect import Defect, DefectKind
from scrub.model.plan import CheckPlan
from scrub.stores.base import ComparingStore
from tests.checks.plans import numbered


def _no_spark() -> Never:
    raise AssertionError("nobody needs Spark here")


def a_difference(slot: int, kind: DefectKind, key: int) -> Row:
    texts = [str(key)]
    return Row(slot=slot, kind=kind.value, primary_key=texts, index_key=texts)


class HeldSource:
    """Differences by slot; the other side of the protocol `EntrySource`."""

    joins_all = True
    sets_aside = True
    shown_strategy: str | None = "fingerprint"
    glue = "; "

    def __init__(
        self, plan: CheckPlan, *differences: Row, failures: Sequence[Failure] = ()
    ) -> None:
        self.slots, self.relations, self.parts = numbered(plan)
        self.differences = differences
        self.failures = list(failures)  # of attempts to name, one after the other
        self.undecided: Mapping[int, int] = {}
        self.unread = Unread()
        self.riding: dict[str, Riding] = {}
        self.state = ScanState.start(self.slots, None)
        self.attempts = 0

    def differ_in(self, slot: int, *buckets: int, rows: int = 10) -> None:
        """As if the scan had summed up other digests on both sides of some buckets."""
        sums = self.state.sums.slots[slot].buckets
        sums[0, :2] += np.uint64(rows)
        for bucket in buckets:
            sums[bucket, 2] += np.uint64(1)

    def comparing_store(self, slot: Slot) -> ComparingStore | None:  # noqa: ARG002
        return None

    @contextmanager
    def named(self, slots: Sequence[int], chosen: Chosen) -> Iterator[Named]:  # noqa: ARG002
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        held = tuple(row for row in self.differences if row["slot"] in slots)
        yield Named(NamedDefects.holding(held))

    def decide(self, named: Named) -> Decided:
        return Decided(named.defects, count(named.defects, Jobs(_no_spark)), self.undecided)

    def why_undecided(self, slot: Slot, number: int) -> str:
        return f"{number} rows of {slot.label} prove nothing"

    def once_per_row(self, defects: NamedDefects, counts: Counts) -> NamedDefects | None:  # noqa: ARG002
        return None

    def set_aside(self, error: Failure, parts: Any, slots: Any) -> bool:  # noqa: ARG002
        return False

    def try_otherwise(self, error: Failure) -> bool:  # noqa: ARG002
        return bool(self.failures)

    def counted_entries(self, slot: Slot) -> tuple[int, int]:  # noqa: ARG002
        return 10, 11

    def can_settle(self, slot: Slot) -> bool:  # noqa: ARG002
        return False

    def to_defect(self, row: Row, slot: Slot) -> Defect:
        key = {"id": int(row["primary_key"][0])}
        return Defect(
            kind=DefectKind(row["kind"]),
            table=slot.table.table.name,
            index=slot.index.name,
            primary_key=key,
            index_key=key,
            expected=None,
            actual=None,
            snapshot="version 1",
        )


def a_run(plan: CheckPlan, source: HeldSource, **settings: Any) -> Run:
    """A run whose scan is done."""
    given = RunSettings(run_id="r", **settings)
    jobs = Jobs(_no_spark)
    return Run(
        plan=plan,
        settings=given,
        source=cast(EntrySource, source),
        jobs=jobs,
        finished=FinishedParts(None, plan, source.parts),
        shown=ShownDefects(limit=given.limit, on_defect=given.on_defect, jobs=jobs),
        found={slot.number: SlotFindings() for slot in source.slots},
        comparing={},
    )
