# SPDX-License-Identifier: Apache-2.0
"""The public Python API: one use case a module. Nothing here prints."""

from scrub.app.checking.tables import check, explain_check, run_check

__all__ = ["check", "explain_check", "run_check"]
