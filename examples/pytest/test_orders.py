# SPDX-License-Identifier: Apache-2.0
"""A test of one's own beside those of the catalog: `pytest` runs both."""

from deltalake import DeltaTable


def test_every_status_is_one_that_the_shop_knows() -> None:
    orders = DeltaTable("lake/orders").to_pyarrow_table(columns=["status"])
    assert set(orders["status"].to_pylist()) <= {"open", "paid", "sent"}
