# SPDX-License-Identifier: Apache-2.0
"""A planned table in key-value layout, as the jobs that read its pairs need it."""

from dataclasses import dataclass

from checks.pairs.plan import HeldPairs
from checks.task_sums import NumberedSplit
from scrub.model.kv import KvTable
from scrub.model.plan import TablePlan
from scrub.model.request import Engine
from scrub.model.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """Which relations hold its pairs, what is compared, and who reads."""

    table: Table
    relations: tuple[HeldPairs, ...]  # the first holds the rows
    indexes: tuple[str, ...]  # to be compared with the rows
    bucket_bits: int
    is_native: bool
    are_files: bool = False  # whether tasks can open what Spark reads, too

    @classmethod
    def of_plan(cls, plan: TablePlan) -> "PairTable":
        assert plan.pairs is not None, "only tables in key-value layout come here"
        return cls(
            table=plan.table,
            relations=tuple(
                HeldPairs(facts=of.side.facts, keys=of.keys) for of in plan.pairs.relations
            ),
            indexes=tuple(one.index.name for one in plan.indexes),
            bucket_bits=plan.bucket_bits,
            is_native=plan.side.engine is Engine.NATIVE,
            are_files=plan.pairs.are_files,
        )

    @property
    def kv(self) -> KvTable:
        assert self.table.kv is not None, "only tables in key-value layout come here"
        return self.table.kv

    @property
    def snapshot(self) -> str:
        return ", ".join(dict.fromkeys(of.facts.snapshot.label for of in self.relations))

    @property
    def looks_at_order(self) -> bool:
        """Whether files are said to be sorted, and tasks can open them to see."""
        return self.kv.sorted and self.are_files

    @property
    def splits(self) -> tuple[NumberedSplit, ...]:
        """The splits of all relations, numbered through."""
        splits = [(r, split) for r, of in enumerate(self.relations) for split in of.facts.splits]
        return tuple(NumberedSplit(n, r, split) for n, (r, split) in enumerate(splits))
