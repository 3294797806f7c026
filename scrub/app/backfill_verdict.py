# SPDX-License-Identifier: Apache-2.0
"""What the check before publishing says: the rows that stand in the way, not only how many."""

from collections.abc import Mapping

from reports.cutting import cut
from scrub.model.backfill import one_a_line
from scrub.model.result import RunResult, Status

NAMED_MAX = 5
_VALUE_MAX = 200


def why_not(result: RunResult) -> str | None:
    """Why a result does not allow publishing; None if it does."""
    if result.status is Status.CLEAN:
        return None
    if result.status is Status.DEFECTIVE:
        named = [
            f"{defect.kind} of {defect.index} at {_shown(defect.primary_key)}"
            for defect in result.defects[:NAMED_MAX]
        ]
        more = result.defects_total - len(named)
        count = result.defects_total
        head = f"the check found {count:,} {'defect' if count == 1 else 'defects'}:"
        unnamed = [outcome.reason or "" for outcome in result.outcomes if outcome.unnamed]
        if not named and unnamed:
            return "the check found differences: " + "; ".join(unnamed)
        return one_a_line(head, named, more)
    reasons = [outcome.reason for outcome in result.outcomes if outcome.reason]
    return "the check could not look at everything: " + "; ".join(reasons)


def _shown(key: Mapping[str, object] | None) -> str:
    if key is None:
        return "a row of unknown key"
    return ", ".join(f"{name}={cut(str(value), _VALUE_MAX)}" for name, value in key.items())
