# SPDX-License-Identifier: Apache-2.0
"""Defects as a table, for notebooks.

Not in the model: that knows the standard library only, and a table is Arrow's or pandas'.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from scrub.model.defect import Defect
from scrub.model.gate import Judged
from scrub.model.result import RunResult

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ENTRIES = ("primary_key", "index_key", "expected", "actual")
_COLUMNS = (
    "id",
    "kind",
    "table",
    "index",
    "constraint",
    *_ENTRIES,
    "differing_columns",
    "key_hex",
    "value_hex",
    "column",
    "file",
    "stored_type",
    "row_digest",
    "snapshot",
    "detail",
)


class Defects(tuple[Defect, ...]):
    """The defects of a result: a tuple, and a table on request."""

    __slots__ = ()

    def to_arrow(self) -> "pa.Table":
        """A row for each defect, with the fields of the JSON result.

        Keys and entries are JSON texts: those of different tables have different columns.
        """
        import pyarrow as pa

        schema = pa.schema(
            [
                (name, pa.list_(pa.string()) if name == "differing_columns" else pa.string())
                for name in _COLUMNS
            ]
        )
        return pa.Table.from_pylist([_row(defect) for defect in self], schema=schema)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a DataFrame of pandas."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame


def _row(defect: Defect) -> Mapping[str, Any]:
    from reports.records import as_json, defect_record

    record = defect_record(defect)
    entries = {n: None if record[n] is None else as_json(record[n]) for n in _ENTRIES}
    return {**record, "kind": defect.kind.value, **entries}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(RunResult):
    """A whole run, whose defects can be had as a table."""

    defects: Defects


def with_tables(result: RunResult, *, redact: bool = False) -> CheckResult:
    """The result as the API returns it; redacted, if that was asked for."""
    from reports.redaction import redact_result

    told = redact_result(result) if redact and not result.redacted else result
    given = {field.name: getattr(told, field.name) for field in fields(RunResult)}
    return CheckResult(**{**given, "defects": Defects(told.defects)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified(Judged):
    """What `verify` found and decided; the code is the one of the command."""

    result: CheckResult

    @property
    def exit_code(self) -> int:
        return self.verdict.exit_code


def verified(judged: Judged, *, redact: bool) -> Verified:
    return Verified(
        result=with_tables(judged.result, redact=redact), verdict=judged.verdict, told=judged.told
    )
