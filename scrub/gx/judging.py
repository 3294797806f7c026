# SPDX-License-Identifier: Apache-2.0
"""What a check found, in the words of a validation result; knows no Great Expectations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reports.grids import defects_grid
from reports.records import check_record, defect_record, entry_record
from reports.redaction import redact_defect
from scrub.errors import ScrubError
from scrub.model.defect import PHYSICAL_KINDS, Defect
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult, worst

EXAMPLES_MAX = 20
INDEX, PHYSICAL, CONSTRAINT = "index", "physical", "constraint"

BOOLEAN_ONLY, BASIC, SUMMARY, COMPLETE = "BOOLEAN_ONLY", "BASIC", "SUMMARY", "COMPLETE"
_NOTHING = ("", "-")  # the cells of a report where a defect has no such thing
_COVERAGE = (
    *("check", "index", "constraint", "status", "reason", "rows", "entries", "undecided"),
    *("unnamed", "counts", "engine", "notes", "ignored_columns", "not_looked_for"),
)
_EXAMPLE = (
    *("kind", "index", "constraint", "primary_key", "index_key", "expected", "actual", "column"),
    *("file", "key_hex", "detail"),
)


class LookIncomplete(ScrubError):
    """Not everything was looked at, so that nothing can be said to be as expected."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run, as far as it concerns one expectation: one table, some of its outcomes and defects."""

    run: RunResult

    @property
    def table(self) -> TableResult:
        return self.run.tables[0]

    @property
    def defects(self) -> tuple[Defect, ...]:
        return self.run.defects

    @property
    def success(self) -> bool:
        return worst(self.table.checks) is Status.CLEAN

    @property
    def unexpected(self) -> int:
        """All defects, and the differences that nobody could name."""
        return sum(outcome.defects + outcome.unnamed for outcome in self.table.checks)

    @property
    def elements(self) -> int:
        """Rows of the table, or entries where there are more of them."""
        sizes = (max(o.rows or 0, o.entries or 0) for o in self.table.checks)
        return max(sizes, default=0)

    def demand_a_look(self) -> None:
        """Raise the reasons if no defect is known and something was not looked at."""
        if worst(self.table.checks) is not Status.INCOMPLETE:
            return
        reasons = [
            f"{subject_of(self.table.table, o)}: {o.reason or 'no reason was given'}"
            for o in self.table.checks
            if o.status in (Status.INCOMPLETE, Status.NOT_APPLICABLE)
        ]
        told = "; ".join(dict.fromkeys(reasons)) or f"no check of {self.table.table} was made"
        raise LookIncomplete(f"the check was incomplete: {told}")

    def as_result(self, result_format: str, examples_max: int = EXAMPLES_MAX) -> dict[str, Any]:
        """The field `result` of a validation result, with what the format asks for."""
        if result_format == BOOLEAN_ONLY:
            return {}
        unexpected, elements = self.unexpected, self.elements
        examples = self.defects[: max(0, min(examples_max, EXAMPLES_MAX))]
        result: dict[str, Any] = {
            "element_count": elements,
            "unexpected_count": unexpected,
            "unexpected_percent": _percent(unexpected, elements),
            "observed_value": unexpected,
            "partial_unexpected_list": [_example(defect) for defect in examples],
            "details": self._details(examples),
        }
        if result_format in (SUMMARY, COMPLETE):
            result["partial_unexpected_counts"] = [
                {"value": kind, "count": number} for kind, number in self._counts().items()
            ]
        if result_format == COMPLETE:
            result["unexpected_list"] = result["partial_unexpected_list"]
            result["unexpected_index_list"] = [
                entry_record(defect.primary_key) or {} for defect in examples
            ]
        return result

    def _counts(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for outcome in self.table.checks:
            counts.update({kind.value: number for kind, number in outcome.counts.items()})
        return dict(counts)

    def _details(self, examples: Sequence[Defect]) -> dict[str, Any]:
        return {
            "run_id": self.run.run_id,
            "snapshots": self._snapshots(),
            "coverage": [_coverage(outcome) for outcome in self.table.checks],
            "counts": self._counts(),
            "examples": f"{len(examples):,} of {self.unexpected:,}",
            "failing": _failing(replace(self.run, defects=tuple(examples))),
        }

    def _snapshots(self) -> dict[str, str]:
        """The snapshot of each side, by the name of its table, index or constraint."""
        name = self.table.table
        return {name: self.table.snapshot} | {
            subject_of(name, outcome): outcome.snapshot
            for outcome in self.table.checks
            if outcome.snapshot is not None and subject_of(name, outcome) != name
        }


def judgement_of(
    result: RunResult, table: str, check: str, index: str | None = None, *, redact: bool = False
) -> Judgement:
    """What a run says of one check of one table, or of one of its indexes."""
    found = next((of for of in result.tables if of.table == table), None)
    if found is None:
        raise LookIncomplete(f"the check was incomplete: {table} was not looked at")
    chosen = [o for o in found.checks if o.check == check and index in (None, o.index)]
    of_table = (defect for defect in result.defects if defect.table == table)
    defects = [d for d in of_table if any(_counts_it(outcome, d) for outcome in chosen)]
    if redact:
        defects = [redact_defect(defect) for defect in defects]
    narrowed = replace(found, checks=tuple(chosen))
    return Judgement(replace(result, tables=(narrowed,), defects=tuple(defects)))


def subject_of(table: str, outcome: CheckOutcome) -> str:
    """What an outcome is about: `orders.by_email`, `orders.positive_amount`, or `orders`."""
    part = outcome.index or outcome.constraint
    return f"{table}.{part}" if part else table


def _counts_it(outcome: CheckOutcome, defect: Defect) -> bool:
    """Whether a defect is one of those that an outcome counts."""
    if defect.kind not in outcome.counts:
        return False
    if outcome.check == PHYSICAL:
        return defect.kind in PHYSICAL_KINDS
    if outcome.check == CONSTRAINT:
        return defect.constraint == outcome.constraint
    # A duplicated row may be reported once for all indexes, and then names none of them.
    return defect.constraint is None and defect.index in (None, outcome.index)


def _percent(unexpected: int, elements: int) -> float:
    """Always a number between 0 and 100: several indexes may have more defects than rows."""
    if not unexpected:
        return 0.0
    return min(100.0, 100.0 * unexpected / elements) if elements else 100.0


def _example(defect: Defect) -> dict[str, Any]:
    """One defect: what is wrong where, without what is empty."""
    record = {**defect_record(defect), "kind": defect.kind.value}
    return {name: record[name] for name in _EXAMPLE if record[name] not in (None, "")}


def _failing(run: RunResult) -> dict[str, Any]:
    """The defects as a table of text, as every report shows them, without columns of nothing."""
    grid = defects_grid(run)
    told = [n for n in range(len(grid.headers)) if any(row[n] not in _NOTHING for row in grid.rows)]
    return {
        "columns": [grid.headers[n] for n in told],
        "rows": [[row[n] for n in told] for row in grid.rows],
    }


def _coverage(outcome: CheckOutcome) -> dict[str, Any]:
    record = check_record(outcome)
    return {name: record[name] for name in _COVERAGE if record[name] not in (None, [], {})}
