# SPDX-License-Identifier: Apache-2.0
"""Small lakes of tables with constraints, and what a check says of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrub.app import run_check
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, RunResult
from tests.checks.trials import write_files

FILES = {"lake": {"kind": "spark", "format": "parquet", "path": "."}}

Types = dict[str, str]
Values = tuple[Any, ...]


def a_table(types: Types, *primary_key: str, **more: Any) -> dict[str, Any]:
    """A table of a catalog; the first column is its key, if none is named."""
    return {
        "store": "lake",
        "columns": {name: {"type": kind} for name, kind in types.items()},
        "primary_key": list(primary_key) or list(types)[:1],
    } | more


def refers(to: str, *columns: str) -> dict[str, Any]:
    """A foreign key."""
    return {"columns": list(columns), "references": to}


def write_table(directory: Path, name: str, types: Types, *rows: Values) -> None:
    """Rows as Parquet: one file, or two if their number is odd."""
    write_files(directory / name, list(types), types, list(rows))


def write_catalog(
    directory: Path, tables: Mapping[str, Any], stores: Mapping[str, Any] = FILES
) -> Path:
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return catalog


def check(catalog: Path, spark: Any, *tables: str, **request: Any) -> RunResult:
    return run_check(CheckRequest(catalog=catalog, tables=tables, **request), spark=spark)


def found(result: RunResult, table: str) -> list[tuple[Any, ...]]:
    """The defects of a table: constraint or column, and the primary key."""
    return sorted(
        (str(defect.constraint), *(defect.primary_key or {}).values())
        for defect in result.defects
        if defect.table == table
    )


def outcome_of(result: RunResult, constraint: str, table: str | None = None) -> CheckOutcome:
    (one,) = (
        outcome
        for of_table in result.tables
        for outcome in of_table.checks
        if outcome.constraint == constraint and table in (None, of_table.table)
    )
    return one


def zero(file: Path) -> None:
    """Damage a file so that it cannot be read, but has its size."""
    file.write_bytes(bytes(file.stat().st_size))
