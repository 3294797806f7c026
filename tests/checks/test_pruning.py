# SPDX-License-Identifier: Apache-2.0
"""Splits that a condition leaves out, by their partition values."""

from dataclasses import replace

import pytest

from checks.pruning import pruned
from scrub.catalog.expressions import translate
from scrub.model.types import parse_type
from tests.checks.plans import a_side

TYPES = {
    name: parse_type(of)
    for name, of in {"n": "int", "s": "string", "d": "date", "at": "timestamp", "x": "int"}.items()
}
VALUES = {"n": ["1", "2", None], "s": ["a", "b", None], "d": ["2026-11-15", "2026-11-16", None]}


@pytest.mark.parametrize(
    ("column", "condition", "left"),
    [
        ("n", "n = 2", ["2"]),
        ("n", "n > 0", ["1", "2"]),
        ("n", "NOT n = 2", ["1"]),
        ("n", "n IS NULL", [None]),
        ("n", "n = 1 AND x = 5", ["1"]),
        ("n", "n = 1 OR x = 5", ["1", "2", None]),
        ("n", "NOT (n = 1 OR x = 5)", ["2"]),
        ("n", "NOT (n = 1 AND x = 5)", ["1", "2", None]),
        ("n", "n IN (2, 3) AND NOT x IS NULL", ["2"]),
        ("n", "x = 1", ["1", "2", None]),
        ("n", "n = x", ["1", "2", None]),
        ("s", "s >= 'b'", ["b"]),
        ("d", "d = DATE'2026-11-16'", ["2026-11-16"]),
        ("n", "n = 7", ["1"]),  # one is always left
    ],
)
def test_only_splits_that_can_hold_a_chosen_row_are_left(
    column: str, condition: str, left: list[str | None]
) -> None:
    facts = a_side("orders", files=3).facts
    splits = [
        replace(split, partition={column: value})
        for split, value in zip(facts.splits, VALUES[column], strict=True)
    ]
    facts = replace(facts, splits=tuple(splits))
    found, out = pruned(facts, translate(condition, TYPES), TYPES)
    assert [split.partition[column] for split in found.splits] == left
    assert len(out) == 3 - len(left)
    assert (found.rows, found.bytes if out else None) == (
        10 * len(left),
        100 * len(left) if out else None,
    )


@pytest.mark.parametrize("text", ["no number", ""])
def test_a_value_that_cannot_be_read_leaves_nothing_out(text: str) -> None:
    facts = a_side("orders", files=2).facts
    splits = [replace(split, partition={"n": text}) for split in facts.splits]
    facts = replace(facts, splits=tuple(splits))
    assert pruned(facts, translate("n = 2", TYPES), TYPES) == (facts, ())
