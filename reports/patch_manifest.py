# SPDX-License-Identifier: Apache-2.0
"""What `patch.json` says of a patch."""

import json
from typing import Any

from reports.patches import index_record
from reports.repair_records import repair_record
from scrub.model.repair import RepairReport, RepairRequest


def manifest_of(report: RepairReport, request: RepairRequest) -> str:
    """The files, where they come from, and what is not in them."""
    assert report.patch is not None, "there is a patch to tell of"
    told = repair_record(report)
    document: dict[str, Any] = {
        "schema_version": 1,
        "table": report.table,
        "made_at": report.patch.made_at.isoformat(),
        "from": _source(report, request),
        "indexes": [index_record(patch) for patch in report.patch.indexes],
        "refusals": told["refusals"],
        "lost_rows": told["lost_rows"],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _source(report: RepairReport, request: RepairRequest) -> dict[str, Any]:
    before = report.before
    if before is None:
        return {"file": str(request.from_file)}
    snapshot = next((table.snapshot for table in before.tables), None)
    return {"run_id": before.run_id, "snapshot": snapshot, "status": before.status}
