# SPDX-License-Identifier: Apache-2.0
"""What ends a run whose tasks met a row that only Spark can evaluate an expression for."""


class OnlySpark(Exception):
    """The table has to be read by Spark: a run that does so starts from the beginning.

    It comes before anything is named, since the scan looks at every row.
    """

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table = table
        self.reason = f"only Spark evaluates {reason}"
