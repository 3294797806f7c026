# SPDX-License-Identifier: Apache-2.0
"""A short campaign of damage; `make fuzz` runs a long one."""

from collections import Counter

import pytest

from tests.scrub.codec.kv.fuzz import campaign


@pytest.mark.slow
def test_damaged_pairs_get_the_verdicts_of_the_reference() -> None:
    seen: Counter[str] = Counter()
    for verdicts in campaign(number=51, pairs_to_try=50_000):
        seen += verdicts
    assert seen.total() == 50_000
    assert min(seen.values()) > 500
    assert set(seen) == {
        "None",
        "unexpected_key",
        "invalid_encoding",
        "invalid_composite_encoding",
        "noncanonical_encoding",
    }
