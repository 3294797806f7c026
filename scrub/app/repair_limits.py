# SPDX-License-Identifier: Apache-2.0
"""When a repair is too large to be meant, and what to type if it is."""

import math

from scrub.model.repair import RepairRequest
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


def over_limit(changes: int, rows: int | None, request: RepairRequest) -> str | None:
    """Why so many changes are not made; None if they may be."""
    if changes > request.max_changes:
        return (
            f"{changes:,} changes are more than --max-changes {request.max_changes:,}; "
            f"{_if_meant(f'--max-changes {changes}')}"
        )
    if rows is None and changes > 1 and request.max_fraction < 1:
        source = request.from_file or "the check before"
        return (
            f"{source} does not say how many rows the table has, so nobody knows whether "
            f"{changes:,} changes are more than --max-fraction {request.max_fraction:g} "
            "of them; take a result of --format json, or say --max-fraction 1 to go by "
            "--max-changes alone"
        )
    if rows is not None and changes > max(1.0, rows * request.max_fraction):
        share = f"{changes / rows:.1%} of {rows:,} rows" if rows else "many for an empty table"
        # An empty table has no fraction that would do, so nothing is promised there.
        enough = math.ceil(changes / rows * 1000) / 1000 if rows else 1
        go_on = f"; {_if_meant(f'--max-fraction {enough:g}')}" if rows and enough <= 1 else ""
        return (
            f"{changes:,} changes are {share}, more than --max-fraction "
            f"{request.max_fraction:g}; so much damage often has a cause of its own{go_on}"
        )
    return None


def _if_meant(option: str) -> str:
    return f"if they are meant, add {option}"
