# SPDX-License-Identifier: Apache-2.0
"""The check of constraints: NOT NULL, CHECK, UNIQUE, primary and foreign keys.

`checks.constraints` plans and carries it out. What a row shows by itself is counted in the scan
that serves the indexes; what it takes other rows for is looked at beside it.
"""

from collections.abc import Sequence

from checks.check import Check
from scrub.model.constraint import DEFECT_KINDS, declares_constraints
from scrub.model.table import Index, Table


class ConstraintCheck(Check):
    """Every row keeps what the catalog promises of it, and refers to rows that exist."""

    name = "constraint"
    rank = 1
    finds = tuple(DEFECT_KINDS.values())

    def is_default_for(self, table: Table) -> bool:
        """Whether the catalog promises something, or nothing else can be checked.

        Pairs are decoded by the physical check, which is a default for them and reports NULLs.
        """
        if table.kv is not None:
            return bool(table.checks or table.unique or table.foreign_keys)
        return declares_constraints(table) or not table.indexes

    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:  # noqa: ARG002
        return (None,)
