# SPDX-License-Identifier: Apache-2.0
"""The table and the defects that a repair is asked for."""

from scrub.catalog import Catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import UsageError
from scrub.model.defect import Defect
from scrub.model.repair import RepairRequest
from scrub.model.table import Table


def table_asked_for(catalog: Catalog, request: RepairRequest) -> Table:
    """The table of the request; options that contradict each other are refused."""
    table = catalog.table(request.table)
    if request.recover_rows and request.indexes:
        raise UsageError(
            "--recover-rows reads all indexes, so it cannot be combined with --index",
            hint="leave one of the two out",
        )
    if request.recover_rows and request.delete_last_copies:
        raise UsageError(
            "--recover-rows puts lost rows back, and --delete-last-copies deletes what is left of "
            "them",
            hint="choose one of the two",
        )
    known = [index.name for index in table.indexes]
    for name in request.indexes:
        if name not in known:
            raise UsageError(
                f"there is no index {name} of {table.name}",
                hint=did_you_mean(name, known, "indexes"),
            )
    return table


def is_asked_for(defect: Defect, request: RepairRequest) -> bool:
    return (
        defect.table == request.table
        and (not request.indexes or defect.index in request.indexes)
        and (not request.kinds or defect.kind in request.kinds)
    )
