# SPDX-License-Identifier: Apache-2.0
"""A planned table in key-value layout, as the jobs that read its pairs need it."""

from dataclasses import dataclass

from checks.task_sums import NumberedSplit
from scrub.model.kv import KvTable
from scrub.model.plan import PairRelation, TablePlan
from scrub.model.request import Engine
from scrub.model.table import Table


@dataclass(frozen=True, slots=True)
class PairTable:
    """Which relations hold its pairs, what is compared, and who reads."""

    plan: TablePlan

    @property
    def table(self) -> Table:
        return self.plan.table

    @property
    def kv(self) -> KvTable:
        assert self.table.kv is not None, "only tables in key-value layout come here"
        return self.table.kv

    @property
    def relations(self) -> tuple[PairRelation, ...]:
        """The first holds the rows."""
        return self.plan.pairs.relations if self.plan.pairs else ()

    @property
    def indexes(self) -> tuple[str, ...]:
        """Those to be compared with the rows."""
        return tuple(one.index.name for one in self.plan.indexes)

    @property
    def is_native(self) -> bool:
        return self.plan.side.engine is Engine.NATIVE

    @property
    def looks_at_order(self) -> bool:
        """Whether files are said to be sorted, and tasks can open them to see."""
        return self.kv.sorted and self.plan.pairs is not None and self.plan.pairs.are_files

    @property
    def splits(self) -> tuple[NumberedSplit, ...]:
        """The splits of all relations, numbered through."""
        splits = [(r, split) for r, of in enumerate(self.relations) for split in of.facts.splits]
        return tuple(NumberedSplit(n, r, split) for n, (r, split) in enumerate(splits))
