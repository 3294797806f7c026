# SPDX-License-Identifier: Apache-2.0
"""What a task found wrong with single pairs and values, as it travels to the driver."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from checks.pairs.order import OUT_OF_ORDER
from checks.registry import PHYSICAL

if TYPE_CHECKING:
    from scrub.codec.kv.entries import Entries
    from scrub.codec.kv.judging import BadPair
    from scrub.codec.kv.layouts import Layout

BAD_SCHEMA = "shown string"
"""One row for each pair or value that is wrong by itself, as JSON."""

IS_NULL, IS_UNFIT = 101, 102
"""Verdicts on values: NULL where there is none, or a value that its column's type does not have."""


@dataclass(slots=True)
class Report:
    """How many pairs and values are wrong in each way and where, and some of them."""

    limit: int
    pairs: int = 0
    lost: bool = False
    bytes_read: int = 0
    counts: Counter[tuple[int, int]] = field(default_factory=Counter)  # verdict and index
    unread: Counter[int] = field(default_factory=Counter)  # entries whose value cannot be read
    doubtful: Counter[int] = field(default_factory=Counter)  # rows, by the index they do not prove
    shown: list[dict[str, Any]] = field(default_factory=list)

    def add(self, layout: "Layout", found: "Entries", batch: pa.RecordBatch) -> None:
        from scrub.codec.kv.faults import Code

        self.pairs += batch.num_rows
        self.lost = self.lost or found.lost
        self.add_bad(layout, found.bad, batch)
        for value in found.unfit:
            verdict = IS_NULL if value.code is Code.NULL else IS_UNFIT
            more = {"slot": value.slot, "code": int(value.code)}
            self._note(layout, verdict, value.index, batch, value.number, more)
        for index in found.indexes[found.doubtful].tolist():
            self.doubtful[index] += 1

    def add_bad(self, layout: "Layout", bad: "Sequence[BadPair]", batch: pa.RecordBatch) -> None:
        """Pairs of a batch that are not what they should be."""
        from scrub.codec.kv.faults import Code
        from scrub.codec.kv.pairs import INVALID

        for one in bad:
            is_null = one.verdict == INVALID and one.code is Code.NULL
            more = {"expected": one.expected, "position": one.position, "in_value": one.in_value}
            verdict = IS_NULL if is_null else one.verdict
            self._note(layout, verdict, one.index, batch, one.number, more)
            if one.verdict == INVALID and one.index is not None and one.in_value:
                self.unread[one.index] += 1

    def add_misplaced(self, batch: pa.RecordBatch, misplaced: Sequence[tuple[int, bytes]]) -> None:
        """Pairs that come behind a key they should come before."""
        self.counts[OUT_OF_ORDER, -1] += len(misplaced)
        for number, before in misplaced[: max(self.limit - len(self.shown), 0)]:
            shown = {"verdict": OUT_OF_ORDER, "before": before.hex()}
            self.shown.append(shown | _hex(batch, number))

    def _note(
        self,
        layout: "Layout",
        verdict: int,
        index: int | None,
        batch: pa.RecordBatch,
        number: int,
        more: dict[str, Any],
    ) -> None:
        self.counts[verdict, -1 if index is None else index] += 1
        if len(self.shown) < self.limit:
            name = None if index is None else layout.names[index]
            self.shown.append({"verdict": verdict, "index": name} | more | _hex(batch, number))

    def as_json(self) -> str:
        """As `checks.scan_state` takes it; reports of several tasks on one part add up."""
        counted = {
            "pairs": self.pairs,
            "lost": int(self.lost),
            "counts": [[*of, count] for of, count in self.counts.items() if count],
            "unread": list(self.unread.items()),
            "doubtful": list(self.doubtful.items()),
            "shown": self.shown,
        }
        riding = {PHYSICAL.name: counted}
        return json.dumps({"bytes": self.bytes_read, "adds_up": True, "riding": riding})

    def as_rows(self) -> pa.RecordBatch:
        """What is shown, as BAD_SCHEMA."""
        shown = [json.dumps(pair) for pair in self.shown]
        return pa.RecordBatch.from_arrays([pa.array(shown, pa.string())], ["shown"])


def _hex(batch: pa.RecordBatch, number: int) -> dict[str, str | None]:
    key, value = (batch.column(name)[number].as_py() for name in ("key", "value"))
    return {"key": key.hex(), "value": None if value is None else value.hex()}
