# SPDX-License-Identifier: Apache-2.0
"""What every builder of indexes is given."""

from dataclasses import dataclass

from scrub.catalog import Catalog
from scrub.model.backfill import BackfillRequest
from scrub.model.command_line import backfill_line
from scrub.model.progress import ProgressListener
from scrub.model.table import Index, Table


@dataclass(frozen=True, slots=True)
class TableBuilder:
    """Some indexes of one table, and the request that names them."""

    catalog: Catalog
    request: BackfillRequest
    table: Table
    indexes: tuple[Index, ...]
    on_progress: ProgressListener

    @property
    def see_status(self) -> str:
        """A hint for whoever asked for a build that is not there."""
        return f"to see what there is: {backfill_line('status', self.table)}"
