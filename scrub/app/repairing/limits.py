# SPDX-License-Identifier: Apache-2.0
"""When a repair is too large to be meant, and what to type if it is."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from scrub.model.repair import ActionKind, RepairPlan, RepairRequest
from scrub.model.result import RunResult


def too_many_defects(before: RunResult, request: RepairRequest) -> str | None:
    """Why the check before has found more than may be changed; None if it has not."""
    total = before.defects_total
    if total <= len(before.defects):
        return None
    return (
        f"there are {total:,} defects, more than --max-changes {request.max_changes:,}; "
        f"{_if_meant(f'--max-changes {total}')}"
    )


def over_limit(
    plan: RepairPlan, sizes: Mapping[str | None, int], request: RepairRequest
) -> str | None:
    """Why so many changes are not made; None if they may be.

    `sizes` are those of the indexes, in entries or in rows of the table, whichever are more; None
    stands for the table.
    """
    if plan.changes > request.max_changes:
        return (
            f"{plan.changes:,} changes are more than --max-changes {request.max_changes:,}; "
            f"{_if_meant(f'--max-changes {plan.changes}')}"
        )
    over = [
        (changes / max(1, size or 0), index, changes, size)
        for index, changes in _changes_by_index(plan).items()
        if changes > 1
        for size in [sizes.get(index, sizes.get(None))]
        if (
            request.max_fraction < 1
            if size is None
            else changes / max(1, size) > request.max_fraction  # a product would be rounded
        )
    ]
    return _over_fraction(over, request) if over else None


def _changes_by_index(plan: RepairPlan) -> Counter[str | None]:
    """How many entries of each index would be written; None: rows of the table."""
    found: Counter[str | None] = Counter(
        action.index or None for action in plan.actions if action.kind is not ActionKind.REINDEX
    )
    found.update(index for action in plan.actions for index, _ in action.puts)
    return found


def _over_fraction(
    over: Sequence[tuple[float, str | None, int, int | None]], request: RepairRequest
) -> str:
    """Told of the index that has most of its entries changed; what to type is enough for all."""
    share, index, changes, size = max(over, key=lambda one: (one[3] is None, one[0]))
    of = f"of index {index}" if index is not None else "of rows"
    if size is None:
        source = request.from_file or "the check before"
        return (
            f"{source} does not say how large the index is, so it is unknown whether {changes:,} "
            f"changes {of} are more than --max-fraction {request.max_fraction:g}; take a result "
            "of --format json, or say --max-fraction 1 to go by --max-changes alone"
        )
    enough = math.ceil(share * 1000) / 1000
    if enough < share:  # by the last digit that a number has
        enough = math.ceil(share * 1000 + 1) / 1000
    shown = f"{share:.1%} of its {size:,} entries" if size else "many for an empty table"
    if index is None:
        shown = f"{share:.1%} of {size:,} rows" if size else "many for an empty table"
    return (
        f"{changes:,} changes {of} are {shown}, more than --max-fraction "
        f"{request.max_fraction:g}; so much damage often has a cause of its own; "
        f"{_if_meant(f'--max-fraction {_plainly(enough)}')}"
    )


def _plainly(share: float) -> str:
    """With all its digits: rounded down, it would not be enough."""
    return f"{share:.3f}".rstrip("0").rstrip(".")


def _if_meant(option: str) -> str:
    return f"if they are meant, add {option}"
