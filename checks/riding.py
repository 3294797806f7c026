# SPDX-License-Identifier: Apache-2.0
"""What shares a scan with the index check: it counts in the same tasks, and names what it counted.

`checks.columns.table_check_run` is the one for tables of columns, whatever the check;
`checks.pairs.judging` is the physical check of pairs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from checks.failures import Failure
from checks.findings import SlotFindings
from checks.parts import Part
from scrub.model.defect import Defect

Reports = Mapping[int, Mapping[str, Any]]
"""By part, what its task reported; JSON-ready, so that an interrupted run can keep it."""


class Riding(Protocol):
    """A check in a scan that serves the indexes as well."""

    @property
    def found(self) -> Mapping[str, SlotFindings]:
        """By table, what was counted."""

    def wants(self, part: Part) -> bool:
        """Whether a scan of the part serves this check."""

    def give_up(self, parts: Sequence[Part], error: Failure) -> None:
        """The scan of these parts failed, and nobody knows which of them is to blame."""

    @property
    def gave_up(self) -> bool:
        """Whether something was given up, so that what was counted is no basis to resume from."""

    def kept(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of a report may be kept on disk: never a value of the data."""

    def conclude(self, reports: Reports) -> None:
        """Add up what was counted."""

    def defects(self, reports: Reports, limit: int | None) -> Iterator[Defect]:
        """The defects table by table, in order; at most so many, or all of them."""
