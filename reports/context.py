# SPDX-License-Identifier: Apache-2.0
"""What a report knows beside its result: a gate's verdict, places in the catalog, the screen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reports.screen import PAPER, Screen
from scrub.model.defect import Defect
from scrub.model.gate import JudgedDefect, Verdict
from scrub.model.result import RunResult
from scrub.model.table import Table

_FIRST_LINE = 1


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file of the repository."""

    file: str  # relative to the repository, with slashes
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlaces:
    """Where the catalog declares tables, indexes and constraints."""

    file: str = "scrub.yaml"
    tables: Mapping[str, Table] = field(default_factory=dict)

    def place(self, table: str, index: str | None = None, constraint: str | None = None) -> Place:
        """The most exact place that is known; the beginning of the catalog at the worst."""
        return Place(self.file, self._line(table, index, constraint) or _FIRST_LINE)

    def _line(self, name: str, index: str | None, constraint: str | None) -> int:
        table = self.tables.get(name)
        if table is None:
            return 0
        of_indexes = {one.name: one.line for one in table.indexes}
        line = of_indexes.get(index, 0) if index is not None else 0
        if constraint is not None:
            line = line or table.constraint_lines.get(constraint, 0)
        return line or table.line


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """Given to every renderer; by default nobody judged, and nothing but a file name is known."""

    verdict: Verdict | None = None
    places: CatalogPlaces = field(default_factory=CatalogPlaces)
    screen: Screen = PAPER

    def judged(self, defects: Iterable[Defect]) -> list[JudgedDefect | None]:
        """How each defect stands, if it was judged.

        Found by id, for a redacted defect has that of the whole one; and by order, for rows that
        share a primary key share an id as well, and one of them may be known and another not.
        """
        of_id: dict[str, list[JudgedDefect]] = {}
        for judged in reversed(self.verdict.defects if self.verdict else ()):
            of_id.setdefault(judged.defect.id, []).append(judged)
        return [of_id[one.id].pop() if of_id.get(one.id) else None for one in defects]

    def exit_code(self, result: RunResult) -> int:
        """What the command ends with: the gate decides, if there is one."""
        return result.exit_code if self.verdict is None else self.verdict.exit_code

    def place_of(self, defect: Defect) -> Place:
        return self.places.place(defect.table, defect.index, defect.constraint)


NO_CONTEXT = ReportContext()
