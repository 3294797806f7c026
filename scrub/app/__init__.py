# SPDX-License-Identifier: Apache-2.0
"""The public Python API: one use case a module. Nothing here prints.

Importing it is cheap: a function brings what it needs when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrub.app.api.building import backfill, follow, verify
    from scrub.app.api.checking import check
    from scrub.app.api.defects import CheckResult, Defects, Verified
    from scrub.app.api.repairing import repair, undo
    from scrub.app.building.follow import FollowRound
    from scrub.app.building.open_table import open_table
    from scrub.app.checking.tables import explain_check, run_check
    from scrub.model.backfill import BackfillPlan, BackfillResult
    from scrub.model.journal import UndoReport
    from scrub.model.repair import RepairReport

__all__ = [
    "BackfillPlan",
    "BackfillResult",
    "CheckResult",
    "Defects",
    "FollowRound",
    "RepairReport",
    "UndoReport",
    "Verified",
    "backfill",
    "check",
    "explain_check",
    "follow",
    "open_table",
    "repair",
    "run_check",
    "undo",
    "verify",
]

_MODULES = {
    "BackfillPlan": "scrub.model.backfill",
    "BackfillResult": "scrub.model.backfill",
    "CheckResult": "scrub.app.api.defects",
    "Defects": "scrub.app.api.defects",
    "FollowRound": "scrub.app.building.follow",
    "RepairReport": "scrub.model.repair",
    "UndoReport": "scrub.model.journal",
    "Verified": "scrub.app.api.defects",
    "backfill": "scrub.app.api.building",
    "check": "scrub.app.api.checking",
    "explain_check": "scrub.app.checking.tables",
    "follow": "scrub.app.api.building",
    "open_table": "scrub.app.building.open_table",
    "repair": "scrub.app.api.repairing",
    "run_check": "scrub.app.checking.tables",
    "undo": "scrub.app.api.repairing",
    "verify": "scrub.app.api.building",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
