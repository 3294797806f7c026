# SPDX-License-Identifier: Apache-2.0
"""How a planned check is to be run: everything a run is given beside the plan."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checks.parts import JobSize
from scrub.model.defect import Defect
from scrub.model.plan import CheckPlan
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How to run, beyond what is planned."""

    run_id: str
    limit: int = 100
    redact: bool = False  # keep values out of reasons, too
    engine: Engine = Engine.AUTO
    job_size: JobSize = field(default_factory=JobSize)
    state_directory: Path | None = None
    fresh: bool = False
    settle_seconds: float | None = None
    plan_again: Callable[[], CheckPlan] | None = None  # the same plan at later snapshots
    sleep: Callable[[float], None] = time.sleep
    on_progress: ProgressListener = ignore_progress
    on_defect: Callable[[Defect], None] | None = None  # every defect, whatever the limit
