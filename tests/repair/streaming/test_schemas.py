# SPDX-License-Identifier: Apache-2.0
import pytest

from repair.streaming.schemas import ColumnGone, demand_carried, rearranged


def test_columns_are_found_by_name_in_any_order() -> None:
    assert rearranged((1, 2, 3), ("a", "b", "c"), ("c", "a")) == (3, 1)


def test_a_column_that_was_added_later_is_null_in_older_rows() -> None:
    assert rearranged((1,), ("a",), ("a", "new")) == (1, None)


def test_a_column_that_the_index_needs_is_missed_by_name() -> None:
    demand_carried(["a"], ["b", "a"])
    with pytest.raises(ColumnGone, match="no longer has b, c") as stopped:
        demand_carried(["a", "b", "c"], ["a"])
    assert stopped.value.exit_code == 3
