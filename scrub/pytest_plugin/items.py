# SPDX-License-Identifier: Apache-2.0
"""Tests of a catalog: one for each table and check, and one for the decision about them all."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Self

import pytest

from reports.cases import Case, Ending, decision_ending
from reports.escaping import printable
from reports.gaps import gaps
from reports.standing import reason_lines
from reports.summary import closing_line
from scrub.model.table import Table
from scrub.pytest_plugin.shared_check import Finding, SharedCheck

_WORST_FIRST = (Ending.FAILED, Ending.ERROR, Ending.PASSED, Ending.SKIPPED)


class CatalogFile(pytest.File):
    """The catalog, as the parent of its tests; they are made when everything is collected."""

    def collect(self) -> Iterable[pytest.Item]:
        return []


class ScrubItem(pytest.Item):
    """A test whose result is part of the one check.

    An incomplete look raises in the setup, which pytest calls an error and not a failure.
    """

    shared: SharedCheck
    line: int = 0

    def setup(self) -> None:
        found = self.shared.finding()
        if found.result is None:
            pytest.fail(printable(found.error), pytrace=False)
        ending, text = self.judge(found)
        if ending is Ending.ERROR:
            pytest.fail(text, pytrace=False)
        if ending is Ending.SKIPPED:
            pytest.skip(text)

    def runtest(self) -> None:
        ending, text = self.judge(self.shared.finding())
        if ending is Ending.FAILED:
            pytest.fail(text, pytrace=False)
        if text:
            self.add_report_section("call", "scrub", text)

    def judge(self, found: Finding) -> tuple[Ending, str]:
        raise NotImplementedError

    def reportinfo(self) -> tuple["PathLike[str] | str", int | None, str]:
        return self.path, max(self.line - 1, 0), self.name


class CheckItem(ScrubItem):
    """One check of one table, or of one of its indexes."""

    def __init__(self, *, subject: tuple[str, str, str | None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.subject = subject

    @classmethod
    def of(
        cls, file: CatalogFile, shared: SharedCheck, table: Table, check: str, index: str | None
    ) -> Self:
        parts = [check] if index is None else [check, index]
        name = printable(f"{table.name}::{' '.join(parts)}")
        item: Self = cls.from_parent(file, name=name, subject=(table.name, check, index))
        lines = {one.name: one.line for one in table.indexes}
        item.shared, item.line = shared, lines.get(index or "", table.line)
        return item

    def judge(self, found: Finding) -> tuple[Ending, str]:
        cases = found.cases_of(*self.subject)
        if not cases:
            return Ending.ERROR, "the check did not look at this"
        ending = min((case.ending for case in cases), key=_WORST_FIRST.index)
        return ending, "\n".join(_told(cases, ending))


class DecisionItem(ScrubItem):
    """What the command would exit with: thresholds and coverage are of no single check."""

    @classmethod
    def of(cls, file: CatalogFile, shared: SharedCheck) -> Self:
        item: Self = cls.from_parent(file, name="gate")
        item.shared = shared
        return item

    def judge(self, found: Finding) -> tuple[Ending, str]:
        result, verdict = found.result, found.context.verdict
        assert result is not None, "the setup has failed without one"
        why = [gap.text for gap in gaps(result)] if verdict is None else reason_lines(verdict)
        text = "\n".join([closing_line(result, verdict), *why])
        return decision_ending(found.context.exit_code(result)), text


def _told(cases: Sequence[Case], ending: Ending) -> Iterable[str]:
    for case in cases:
        told = case.ending is ending or case.ending is Ending.ERROR
        if told and (case.message or case.lines):
            name = f"{case.outcome.constraint}: " if case.outcome.constraint else ""
            yield f"{printable(name)}{case.message}"
            yield from case.lines
