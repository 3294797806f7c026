# SPDX-License-Identifier: Apache-2.0
"""Every check there is. A new one is a file of its own, and a line here."""

from collections.abc import Iterable

from checks.check import Check, TableCheck
from checks.index_check import IndexCheck
from checks.physical_check import PhysicalCheck
from scrub.model.request import CheckRequest
from scrub.model.table import Table

INDEX, PHYSICAL = IndexCheck(), PhysicalCheck()
CHECKS: tuple[Check, ...] = (INDEX, PHYSICAL)


def checks_of(request: CheckRequest, table: Table) -> tuple[Check, ...]:
    """The checks of one table: those asked for, or those that its layout makes cheap.

    Checks of whole tables come first, as in every result.
    """
    chosen = [
        check
        for check in CHECKS
        if (check.name in request.checks if request.checks else check.is_default_for(table))
    ]
    return tuple(sorted(chosen, key=lambda check: not isinstance(check, TableCheck)))


def table_checks(names: Iterable[str]) -> tuple[TableCheck, ...]:
    """Those of the named checks that are of whole tables."""
    wanted = set(names)
    return tuple(c for c in CHECKS if isinstance(c, TableCheck) and c.name in wanted)
