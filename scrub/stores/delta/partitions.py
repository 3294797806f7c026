# SPDX-License-Identifier: Apache-2.0
"""Values that a Delta log cannot tell of a partition, so that no file may be written for them."""

from collections.abc import Mapping

from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.repairing import Reason


def not_in_a_partition(snapshot: DeltaSnapshot, row: Mapping[str, object]) -> Reason | None:
    """Why a row cannot be written: the format reads an empty text of a partition as NULL."""
    for name in snapshot.partition_columns:
        if row.get(name) == "":
            return (
                f"Delta table {snapshot.relation} is partitioned by {name}, and an empty text "
                "there would be read as NULL",
                f"partition the table by another column than {name}, or give the row another value",
            )
    return None
