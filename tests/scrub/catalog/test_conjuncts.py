# SPDX-License-Identifier: Apache-2.0
"""What a condition demands at least."""

import pytest

from scrub.catalog.conjuncts import demanded
from scrub.catalog.native_terms import native_condition
from tests.checks.plans import a_plan

TABLE = a_plan().tables[0].table


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("id = 1", "id = 1"),
        ("id = 1 AND customer > 2", "id = 1 AND customer > 2"),
        ("id = 1 AND pmod(customer, 2) = 1", "id = 1"),
        ("((pmod(customer, 2) = 1) AND (id = 1))", "id = 1"),
        ("id = 1 OR pmod(customer, 2) = 1", None),
        ("NOT (id = 1 AND pmod(customer, 2) = 1)", None),
        ("pmod(customer, 2) = 1", None),
    ],
)
def test_only_what_must_be_true_counts(text: str, part: str | None) -> None:
    expected = None if part is None else native_condition(part, TABLE)
    assert demanded(text, TABLE.types) == expected
