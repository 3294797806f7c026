# SPDX-License-Identifier: Apache-2.0
"""Makes a lake of 200 orders with two indexes, and damages it in two places."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

ORDERS = 200
CUSTOMERS = 17
STATUSES = ("open", "paid", "sent")
LOST = 42  # the order whose entry of by_customer is missing
UNPAID = 77  # the order whose amount is negative


def make_lake(lake: Path) -> None:
    """Write the table and its indexes, unless they are there."""
    if lake.exists():
        return
    numbers = range(1, ORDERS + 1)
    amounts = [Decimal(-number if number == UNPAID else number) for number in numbers]
    orders = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "customer_id": pa.array([number % CUSTOMERS for number in numbers], pa.int64()),
            "status": [STATUSES[number % len(STATUSES)] for number in numbers],
            "amount": pa.array(amounts, pa.decimal128(10, 2)),
        }
    )
    by_customer = orders.select(["customer_id", "id", "status"])
    damaged = pa.concat_tables([by_customer.slice(0, LOST - 1), by_customer.slice(LOST)])
    write_deltalake(lake / "orders", orders)
    write_deltalake(lake / "orders__by_customer", damaged)
    write_deltalake(lake / "orders__by_status", orders.select(["status", "id"]))


if __name__ == "__main__":
    make_lake(Path("lake"))
