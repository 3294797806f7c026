# SPDX-License-Identifier: Apache-2.0
"""Planted against found: which faults a check saw, and what it reported beside them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from scrub.app.selftest_and_demo.faults import FaultyCopy
from scrub.app.selftest_and_demo.key_values import DefectKey, Key, reported_key
from scrub.model.result import RunResult
from scrub.model.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault in one index, and how many of its defects each engine found."""

    index: str
    fault: str
    planted: int
    found: Mapping[str, int]  # by engine

    @property
    def passed(self) -> bool:
        return all(number == self.planted for number in self.found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """A check's result as identities of defects, and the indexes it did not read in full."""

    defects: Counter[DefectKey] = field(default_factory=Counter)
    incomplete: Mapping[tuple[str, str], str] = field(default_factory=dict)  # table, index: why

    @classmethod
    def of(cls, result: RunResult, tables: Iterable[Table]) -> "EngineReport":
        by_name = {table.name: table for table in tables}
        defects: Counter[DefectKey] = Counter()
        for defect in result.defects:
            table = by_name[defect.table]
            assert defect.index is not None, "a copy is checked for defects of indexes only"
            defects[reported_key(defect, table, table.index(defect.index))] += 1
        incomplete = {
            (table.table, outcome.index or "-"): outcome.reason or "not everything was read"
            for table in result.tables
            for outcome in table.checks
            if outcome.is_incomplete
        }
        return cls(defects=defects, incomplete=incomplete)

    def primary_keys(self, table: str) -> frozenset[Key]:
        """The rows of a table that have a defect."""
        return frozenset(key.primary_key for key in self.defects if key.table == table)


def trials(copies: Iterable[FaultyCopy], reports: Mapping[str, EngineReport]) -> Iterator[Trial]:
    """A verdict on each planted fault; a defect that is reported twice does not count as found."""
    for copy in copies:
        for fault in copy.faults:
            found = {
                engine: sum(report.defects[key] == 1 for key in fault.expected)
                for engine, report in reports.items()
            }
            yield Trial(
                index=fault.index, fault=fault.fault, planted=len(fault.expected), found=found
            )


def unexpected(
    copies: Iterable[FaultyCopy], report: EngineReport, untouched: EngineReport
) -> tuple[DefectKey, ...]:
    """What is reported but was neither planted nor there before, and what was there and is gone."""
    expected: Counter[DefectKey] = Counter()
    planted: Counter[DefectKey] = Counter()
    for copy in copies:
        planted.update(key for fault in copy.faults for key in fault.expected)
        for key, number in untouched.defects.items():
            if key.table == copy.source:
                expected[replace(key, table=copy.copy.table.name)] += number
    extra = report.defects - (expected + planted)
    gone = expected - report.defects
    return tuple((extra + gone).elements())
