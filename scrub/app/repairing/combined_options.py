# SPDX-License-Identifier: Apache-2.0
"""Options of a repair that contradict each other."""

from pathlib import Path

from scrub.errors import UsageError
from scrub.model.repair import RepairRequest


def demand_combinable(request: RepairRequest, *, execute: bool, patch: Path | None) -> None:
    """Refuse what cannot be meant, before anything is read."""
    if request.from_file is not None and request.where is not None:
        raise UsageError(
            "--where chooses rows to check, and the defects of --from are given",
            hint="choose among them with --index and --kind, or check with --where and give that "
            "result to --from",
        )
    if patch is not None and (execute or request.verify):
        other = "--execute" if execute else "--verify"
        raise UsageError(
            f"--patch changes nothing, so it cannot be combined with {other}",
            hint="leave one of the two out",
        )
    if request.verify and not execute:
        raise UsageError(
            "--verify checks what was repaired, and without --execute nothing is",
            hint="add --execute, or leave --verify out",
        )
