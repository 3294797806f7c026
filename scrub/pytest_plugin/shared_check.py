# SPDX-License-Identifier: Apache-2.0
"""The one check that serves all tests, also those of other workers of xdist."""

import fcntl
import pickle
from dataclasses import dataclass, field
from pathlib import Path

from reports.cases import Case, cases
from reports.context import ReportContext
from reports.redaction import redact_result
from scrub.errors import ScrubError
from scrub.model.gate import GateRequest
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult


@dataclass(frozen=True, slots=True)
class Finding:
    """What the check found and what the gate says of it, or why there is nothing to say."""

    result: RunResult | None
    context: ReportContext
    error: str = ""

    def cases_of(self, table: str, check: str, index: str | None) -> list[Case]:
        """The outcomes of one check: several if it looks at several constraints."""
        if self.result is None:
            return []
        return [
            case
            for of_table in self.result.tables
            if of_table.table == table
            for case in cases(self.result, of_table, self.context)
            if (case.outcome.check, case.outcome.index) == (check, index)
        ]


@dataclass(slots=True)
class SharedCheck:
    """Runs when the first test needs it. Workers that share a directory share what it found."""

    request: CheckRequest
    directory: Path | None = None  # made by the process that started the workers, for them alone
    _found: Finding | None = field(default=None, init=False)

    def finding(self) -> Finding:
        if self._found is None:
            # A worker on another machine has no such directory, and checks for itself.
            shared = self.directory if self.directory and self.directory.is_dir() else None
            self._found = self._run() if shared is None else self._shared(shared)
        return self._found

    def _shared(self, directory: Path) -> Finding:
        """What the first worker found; the others wait for it."""
        kept = directory / "finding"
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if kept.exists():
                read = pickle.loads(kept.read_bytes())
                assert isinstance(read, Finding)
                return read
            found = self._run()
            kept.write_bytes(pickle.dumps(found))
            return found

    def _run(self) -> Finding:
        from scrub.app.gating.gate import run_gate

        try:
            judged = run_gate(GateRequest(check=self.request))
        except ScrubError as error:  # the same for every test: none of them tries again
            return Finding(None, ReportContext(), error.in_one_line)
        shown = redact_result(judged.result) if self.request.redact else judged.result
        return Finding(shown, ReportContext(verdict=judged.verdict))
