# SPDX-License-Identifier: Apache-2.0
"""What a difference is called: one rule for entries that Spark joins, and for those held here.

Where `--where` chooses rows, an identity is looked at if a chosen row has it and the entries there
are not just those of chosen rows. A row with the same primary key that was not chosen may explain
what is there, so its entry is expected as well; but nobody asks whether it is there. Whatever else
is there with the primary key of a chosen row is called OF_NO_CHOSEN_ROW.
"""

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


def kinds_of_chosen(
    chosen: Any, expected: Any, actual: Any, other_values: Any
) -> dict[DefectKind, Any]:
    """The same where so many of the expected entries are of chosen rows, at least one."""
    of_chosen = kinds_of(chosen, actual, other_values)
    duplicate = DefectKind.DUPLICATE_KEY
    return kinds_of(expected, actual, other_values) | {duplicate: of_chosen[duplicate]}


OF_NO_CHOSEN_ROW = DefectKind.DANGLING
"""It looks dangling from where one stands; nobody looks for that, so it is noted, not reported."""
