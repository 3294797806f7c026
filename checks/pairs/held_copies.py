# SPDX-License-Identifier: Apache-2.0
"""Keys of pairs that are there more than once, of which there are few, so that they are held here.

It finds what `checks.pairs.copies` finds in Spark, and tells it alike.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from checks.pairs.copies import told_of_keys
from checks.pairs.scan import PairSpec

Copy = Mapping[str, Any]  # a row of COPIES_SCHEMA


@dataclass(frozen=True, slots=True)
class HeldCopies:
    """Rows of COPIES_SCHEMA."""

    every: tuple[Copy, ...]

    @classmethod
    def among(cls, pairs: pa.Table, spec: PairSpec) -> "HeldCopies":
        """Among pairs with the columns `key` and `value`."""
        values: dict[bytes, list[bytes]] = defaultdict(list)
        for pair in pairs.to_pylist():
            values[pair["key"]].append(pair["value"])
        again = {key: of_key for key, of_key in values.items() if len(of_key) > 1}
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array(list(again), pa.binary()),
                pa.array([min(of_key) for of_key in again.values()], pa.binary()),
                pa.array([len(of_key) for of_key in again.values()], pa.int64()),
                pa.array([min(of_key) != max(of_key) for of_key in again.values()], pa.bool_()),
            ],
            ["key", "value", "copies", "differ"],
        )
        told = told_of_keys(iter([batch]), spec)
        return cls(tuple(copy for of_keys in told for copy in of_keys.to_pylist()))

    @contextmanager
    def kept(self) -> "Iterator[HeldCopies]":
        """They are here already."""
        yield self

    def of_indexes(self, numbers: list[int]) -> "HeldCopies":
        return HeldCopies(tuple(copy for copy in self.every if copy["index"] in numbers))

    def without(self, number: int) -> "HeldCopies":
        return HeldCopies(tuple(copy for copy in self.every if copy["index"] != number))

    def counted(self) -> list[Copy]:
        """How many rows or entries of each index are there more than once, and how many differ."""
        by_index: dict[int, list[Copy]] = defaultdict(list)
        for copy in self.every:
            by_index[copy["index"]].append(copy)
        return [
            {
                "index": number,
                "rows": len({copy["row"] for copy in copies}),
                "keys": len(copies),
                "differing": len({copy["row"] for copy in copies if copy["differ"]}),
            }
            for number, copies in by_index.items()
        ]

    def first(self, primary: int, limit: int | None) -> list[Copy]:
        """Some of them, or all, of a row only one."""
        in_order = sorted(self.every, key=lambda copy: (copy["index"], copy["key"]))
        return list(_once_per_row(in_order, primary))[:limit]

    def rows_that_differ(self, primary: int) -> frozenset[bytes]:
        """Rows that are there more than once with different values."""
        of_rows = (copy for copy in self.every if copy["index"] == primary)
        return frozenset(copy["row"] for copy in of_rows if copy["differ"])


def _once_per_row(in_order: list[Copy], primary: int) -> Iterator[Copy]:
    rows: set[bytes] = set()
    for copy in in_order:
        if copy["index"] == primary:
            if copy["row"] in rows:
                continue
            rows.add(copy["row"])
        yield copy
