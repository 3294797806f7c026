# SPDX-License-Identifier: Apache-2.0
"""What a difference is called: one rule for entries that Spark joins, and for those held here."""

from typing import Any

from scrub.model.defect import DefectKind


def kinds_of(expected: Any, actual: Any, other_values: Any) -> dict[DefectKind, Any]:
    """For each kind, whether entries of one identity that differ are of it; they may be of several.

    Given how many copies each side has, and whether their stored values differ as sets: numbers, or
    columns of Spark, since both know these operators. Equal numbers of copies with equal sets of
    values still differ in how often each value occurs.
    """
    both = (expected > 0) & (actual > 0)
    return {
        DefectKind.MISSING: actual == 0,
        DefectKind.DANGLING: expected == 0,
        DefectKind.WRONG_STORED_VALUE: both & ((expected == actual) | other_values),
        DefectKind.DUPLICATE_ENTRY: (actual > expected) & (actual > 1),
        DefectKind.DUPLICATE_KEY: (expected > actual) & (expected > 1),
    }
