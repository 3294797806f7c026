# SPDX-License-Identifier: Apache-2.0
"""The checks of scrub as expectations.

They look at the relations of a catalog at pinned snapshots, whatever the batch is: a batch is one
relation, and an index check needs two. Only with `use_batch` the batch stands for the table.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.core.result_format import ResultFormat
from great_expectations.core.suite_parameters import SuiteParameterDict
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation

from scrub.app.checking.tables import run_check
from scrub.errors import ScrubError, UsageError
from scrub.gx.judging import CONSTRAINT, EXAMPLES_MAX, INDEX, PHYSICAL, judgement_of
from scrub.gx.rendering import DataDocsOfCheck
from scrub.model.request import CheckRequest, parse_as_of

Text = str | SuiteParameterDict[str, Any]
Texts = list[str] | SuiteParameterDict[str, Any]


class CheckExpectation(DataDocsOfCheck, BatchExpectation, ABC):  # type: ignore[misc]
    """What all expectations of this package share: a check of one table of a catalog."""

    catalog: Text = pydantic.Field("scrub.yaml", description="The catalog file.")
    table: Text = pydantic.Field(description="The table of the catalog that is checked.")
    indexes: Texts = pydantic.Field([], description="The indexes to check; none means all.")
    as_of: Texts = pydantic.Field(
        [], description="Versions or a time to look at, written as for `scrub check --as-of`."
    )
    use_batch: bool = pydantic.Field(
        False, description="Whether the DataFrame of the batch is read instead of the table."
    )
    redact: bool = pydantic.Field(
        False, description="Whether examples show keys and names of columns only."
    )

    metric_dependencies: ClassVar[tuple[str, ...]] = ()
    success_keys: ClassVar[tuple[str, ...]] = (
        *("catalog", "table", "indexes", "as_of", "use_batch", "redact"),
    )

    @pydantic.validator("as_of", pre=True)
    def _several_points(cls, typed: Any) -> Any:  # noqa: N805 - pydantic calls it with the class
        """One point may be written without a list; a mistake is told here, not an hour later."""
        points = [typed] if isinstance(typed, str | int) else typed
        if isinstance(points, list):
            return [_point(str(point)) for point in points]
        return points

    @classmethod
    @abstractmethod
    def _check_name(cls) -> str:
        """The check that is made."""

    def _validate(
        self,
        metrics: dict[str, Any],  # noqa: ARG002 - there are none
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine[Any] | None = None,
    ) -> dict[str, Any]:
        """Make the check. Great Expectations records what is raised as an exception."""
        name, examples_max = self._wanted_format(runtime_configuration)
        try:
            result = run_check(
                self._request(),
                spark=getattr(execution_engine, "spark", None),
                frames=self._frames(execution_engine),
            )
            found = judgement_of(result, str(self.table), self._check_name(), redact=self.redact)
            found.demand_a_look()
        except ScrubError as error:
            # The hint would be lost: Great Expectations keeps the message only.
            raise ScrubError(error.with_hint) from error
        return {"success": found.success, "result": found.as_result(name, examples_max)}

    def _request(self) -> CheckRequest:
        # Great Expectations has put the values in the places of suite parameters by now.
        points = self.as_of if isinstance(self.as_of, list) else []
        indexes = self.indexes if isinstance(self.indexes, list) else []
        return CheckRequest(
            catalog=Path(str(self.catalog)),
            tables=(str(self.table),),
            indexes=tuple(indexes),
            checks=(self._check_name(),),
            as_of=tuple(map(parse_as_of, points)),
            limit=EXAMPLES_MAX,
            redact=self.redact,
        )

    def _frames(self, engine: Any) -> dict[str, Any] | None:
        """The batch's DataFrame in the place of the table, if that is asked for."""
        if not self.use_batch:
            return None
        frame = getattr(engine.batch_manager.active_batch_data, "dataframe", None)
        if frame is None or getattr(engine, "spark", None) is None:
            raise UsageError(
                "use_batch needs a batch of a Spark data source",
                hint="leave use_batch out, or validate a Spark DataFrame",
            )
        return {str(self.table): frame}

    def _wanted_format(self, runtime_configuration: dict[str, Any] | None) -> tuple[str, int]:
        wanted = self._get_result_format(runtime_configuration=runtime_configuration)
        if isinstance(wanted, str):
            return ResultFormat(wanted).value, EXAMPLES_MAX
        few: Any = wanted.get("partial_unexpected_count", EXAMPLES_MAX)
        return str(wanted.get("result_format", "BASIC")), int(few)


def _point(text: str) -> str:
    """The text itself, if it is a version or a time."""
    parse_as_of(text)
    return text


class ExpectSecondaryIndexToMatchPrimary(CheckExpectation):
    """Expect every index of a table, or the named ones, to agree with its rows."""

    @classmethod
    def _check_name(cls) -> str:
        return INDEX


class ExpectConstraintsToHold(CheckExpectation):
    """Expect every row to keep what the catalog promises: NOT NULL, CHECK, UNIQUE and keys."""

    @classmethod
    def _check_name(cls) -> str:
        return CONSTRAINT


class ExpectEncodingsToBeCanonical(CheckExpectation):
    """Expect every stored value, and every key-value pair, to be one that its column can hold."""

    @classmethod
    def _check_name(cls) -> str:
        return PHYSICAL
