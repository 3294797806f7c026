# SPDX-License-Identifier: Apache-2.0
"""The one check that serves all tests of a process."""

from dataclasses import dataclass, field

from reports.cases import Case, cases
from reports.context import ReportContext
from reports.redaction import redact_result
from scrub.errors import ScrubError
from scrub.model.gate import Verdict
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult


@dataclass(frozen=True, slots=True)
class Finding:
    """What the check found, and what the gate says of it."""

    result: RunResult
    context: ReportContext

    def cases_of(self, table: str, check: str, index: str | None) -> list[Case]:
        """The outcomes of one check: several if it looks at several constraints."""
        return [
            case
            for of_table in self.result.tables
            if of_table.table == table
            for case in cases(self.result, of_table, self.context)
            if (case.outcome.check, case.outcome.index) == (check, index)
        ]


@dataclass(slots=True)
class SharedCheck:
    """Runs when the first test needs it; what it raised is raised for every test."""

    request: CheckRequest
    _found: Finding | ScrubError | None = field(default=None, init=False)

    def finding(self) -> Finding:
        if self._found is None:
            self._found = self._run()
        if isinstance(self._found, ScrubError):
            raise self._found
        return self._found

    def _run(self) -> Finding | ScrubError:
        try:
            result, verdict = judged_check(self.request)
        except ScrubError as error:
            return error
        shown = redact_result(result) if self.request.redact else result
        return Finding(shown, ReportContext(verdict=verdict))


def judged_check(request: CheckRequest) -> tuple[RunResult, Verdict | None]:
    """Check, and let the gate judge what was found."""
    from scrub.app.checking.tables import run_check

    return run_check(request), None
