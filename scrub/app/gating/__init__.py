# SPDX-License-Identifier: Apache-2.0
"""The gate: compares a result with what is known and waived, and decides."""

from scrub.app.gating.grounds import Grounds, requirements
from scrub.app.gating.judging import judge

__all__ = ["Grounds", "judge", "requirements"]
