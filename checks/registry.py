# SPDX-License-Identifier: Apache-2.0
"""Every check there is. A new one is a file of its own, and a line here."""

from collections.abc import Iterable

from checks.check import Check, TableCheck
from checks.constraint_check import ConstraintCheck
from checks.index_check import IndexCheck
from checks.physical_check import PhysicalCheck
from scrub.model.request import CheckRequest
from scrub.model.table import Table

INDEX, PHYSICAL, CONSTRAINT = IndexCheck(), PhysicalCheck(), ConstraintCheck()
CHECKS: tuple[Check, ...] = (INDEX, PHYSICAL, CONSTRAINT)


def checks_of(request: CheckRequest, table: Table) -> tuple[Check, ...]:
    """The checks of one table: those asked for, or those that suit its layout and constraints.

    Checks of whole tables come first, then constraints, as in every result.
    """
    chosen = [
        check
        for check in CHECKS
        if (
            check.name in request.checks
            if request.checks
            else _is_made_unasked(check, request, table) or _is_made_beside(check, request, table)
        )
    ]
    return tuple(sorted(chosen, key=lambda check: check.rank))


def _is_made_unasked(check: Check, request: CheckRequest, table: Table) -> bool:
    """Whether a check is made where nobody names the checks to make.

    Who names indexes or constraints wants to know about these, and not about the others.
    """
    if check is CONSTRAINT:
        if request.constraints:
            return True
        unasked = request.constraints_unasked and not request.indexes
        return unasked and check.is_default_for(table)
    if check is INDEX and request.constraints and not request.indexes:
        return False
    return check.is_default_for(table)


def _is_made_beside(check: Check, request: CheckRequest, table: Table) -> bool:
    return any(
        name == check.name and of in (None, table.name) for of, name in request.checks_beside
    )


def table_checks(names: Iterable[str]) -> tuple[TableCheck, ...]:
    """Those of the named checks that are of whole tables."""
    wanted = set(names)
    return tuple(c for c in CHECKS if isinstance(c, TableCheck) and c.name in wanted)
