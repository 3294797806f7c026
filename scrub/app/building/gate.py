# SPDX-License-Identifier: Apache-2.0
"""The check of an index before it is published, and what the gate makes of its result.

It is the same for every store, and for `verify`, which offers it for indexes that others built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reports.truncation import truncate
from scrub.app.checking.tables import run_check
from scrub.app.gating import Grounds, judge
from scrub.app.gating.judging import DEFECTIVE, PASSED
from scrub.model.backfill import BackfillRequest, one_a_line
from scrub.model.gate import Requirement, Verdict
from scrub.model.progress import ProgressListener
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.stores.building import Refused, Unchecked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMED_MAX = 5
_VALUE_MAX = 200


def gate_request(request: BackfillRequest, indexes: Sequence[str]) -> CheckRequest:
    """What is checked before indexes are published."""
    return CheckRequest(
        catalog=request.catalog,
        tables=(request.table,),
        indexes=tuple(indexes),
        fresh=True,
        being_built=True,
    )


@dataclass(frozen=True, slots=True)
class CheckingGate:
    """A `Gate` that runs the index check."""

    request: BackfillRequest
    spark: "SparkSession | None"  # to be used, if it is needed; the active one is found anyway
    spark_options: SparkOptions | None
    on_progress: ProgressListener

    def __call__(self, indexes: Sequence[str]) -> Mapping[str, int]:
        asked = replace(gate_request(self.request, indexes), limit=NAMED_MAX)
        result = run_check(
            asked,
            spark=self.spark,
            spark_options=self.spark_options,
            on_progress=self.on_progress,
        )
        verdict = strict_verdict(result, self.request.table, indexes)
        reason = why_not(result, verdict)
        if reason is not None:
            raise Refused(reason) if verdict.exit_code == DEFECTIVE else Unchecked(reason)
        return {of.index: of.entries or 0 for of in result.outcomes if of.index is not None}


def strict_verdict(result: RunResult, table: str, indexes: Sequence[str]) -> Verdict:
    """Before an index is public nothing of it is known or waived, and all of it is looked at."""
    required = tuple(Requirement(check="index", table=table, index=name) for name in indexes)
    return judge(result, Grounds(required=required))


def why_not(result: RunResult, verdict: Verdict | None = None) -> str | None:
    """Why a result does not allow publishing, and which rows are in the way; None if it does."""
    verdict = verdict or judge(result)
    if verdict.exit_code == PASSED:
        return None
    if verdict.exit_code == DEFECTIVE:
        named = [
            f"{defect.kind} of {defect.index} at {_shown(defect.primary_key)}"
            for defect in result.defects[:NAMED_MAX]
        ]
        more = result.defects_total - len(named)
        count = result.defects_total
        head = f"the check found {count:,} {'defect' if count == 1 else 'defects'}:"
        unnamed = [outcome.reason or "" for outcome in result.outcomes if outcome.unnamed]
        if not named and unnamed:
            return "the check found differences: " + "; ".join(unnamed)
        return one_a_line(head, named, more)
    return "the check could not look at everything: " + "; ".join(verdict.missing)


def _shown(key: Mapping[str, object] | None) -> str:
    if key is None:
        return "a row of unknown key"
    return ", ".join(f"{name}={truncate(str(value), _VALUE_MAX)}" for name, value in key.items())
