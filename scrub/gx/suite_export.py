# SPDX-License-Identifier: Apache-2.0
"""The constraints and indexes of a table as an expectation suite, mostly of built-in expectations.

The suite is a plain document: writing it needs no Great Expectations, and the same catalog gives
the same bytes.
"""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.records import as_json
from scrub.catalog import Catalog
from scrub.catalog.dependence import depends_on_casing, depends_on_zone
from scrub.gx import violation_queries as queries
from scrub.model.constraint import Constraint, ConstraintKind, constraints_of
from scrub.model.table import Table

_IDS = uuid.UUID("6f1c8f0e-5b0f-5c1a-9a53-0d9f0c1a7e16")  # any fixed one: ids are derived from it
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", flags=re.ASCII)

Expectation = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NotSaid:
    """A constraint that no built-in expectation can state, and why."""

    constraint: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExportedSuite:
    """A suite as Great Expectations stores it, and what no built-in expectation says."""

    document: dict[str, Any]
    not_said: tuple[NotSaid, ...]

    @property
    def text(self) -> str:
        return as_json(self.document, indent=2) + "\n"

    @property
    def expectations(self) -> int:
        return len(self.document["expectations"])


def export_suite(catalog: Catalog, name: str, catalog_path: Path) -> ExportedSuite:
    """The suite of one table; its expectations of scrub look for the catalog at `catalog_path`."""
    table = catalog.table(name)
    not_said: list[NotSaid] = []
    expectations: list[Expectation] = []
    for constraint in constraints_of(table):
        reason = _why_not(catalog, table, constraint)
        if reason is None:
            expectations += _built_in(catalog, table, constraint)
        else:
            not_said.append(NotSaid(constraint.name, reason))
    own = {"catalog": catalog_path.as_posix(), "table": name}
    if not_said:
        # What theirs cannot state is still looked at.
        expectations.append(_expectation("expect_constraints_to_hold", own, "constraints"))
    for index in table.indexes:
        kwargs = {**own, "indexes": [index.name]}
        part = f"index {index.name}"
        expectations.append(_expectation("expect_secondary_index_to_match_primary", kwargs, part))
    document = {
        "name": name,
        "id": _id_of("suite", name),
        "expectations": [
            {**one, "id": _id_of("expectation", name, one["meta"]["scrub"])} for one in expectations
        ],
        "meta": {
            "scrub": {
                "table": name,
                "not_said": [{"constraint": n.constraint, "reason": n.reason} for n in not_said],
            }
        },
    }
    return ExportedSuite(document, tuple(not_said))


def _why_not(catalog: Catalog, table: Table, constraint: Constraint) -> str | None:
    """Why a constraint cannot be stated for a batch of the table."""
    if table.kv is not None:
        return "the rows of the table are key-value pairs, which only scrub decodes"
    if constraint.condition is not None:
        if depends_on_zone(constraint.condition, table.types):
            return f"it depends on the time zone, {table.time_zone}, which a suite cannot set"
        if depends_on_casing(constraint.condition):
            return "it depends on the language of the machine, which a suite cannot set"
    computed = [c for c in constraint.columns if table.column(c).computed is not None]
    if computed:
        return f"the database computes {', '.join(computed)}, and a batch does not hold it"
    if constraint.references is not None:
        parent = catalog.table(constraint.references)
        if parent.kv is not None:
            return f"the rows of {parent.name} are key-value pairs, which only scrub decodes"
    return None


def _built_in(catalog: Catalog, table: Table, constraint: Constraint) -> Iterator[Expectation]:
    part = f"{constraint.kind} {constraint.name}"
    match constraint.kind:
        case ConstraintKind.NOT_NULL:
            for column in constraint.columns:
                yield _not_null(column, f"{constraint.kind} {column}")
        case ConstraintKind.CHECK:
            yield _rows(queries.false_rows(constraint.condition or ""), part)
        case ConstraintKind.PRIMARY_KEY | ConstraintKind.UNIQUE:
            yield _unique(list(constraint.columns), part)
        case ConstraintKind.FOREIGN_KEY:
            parent = catalog.table(constraint.references or "")
            # A table that refers to itself is the batch; every other parent is a view of its name.
            view = None if parent.name == table.name else parent.name
            yield _rows(queries.orphan_rows(constraint.columns, view, parent.primary_key), part)


def _not_null(column: str, part: str) -> Expectation:
    if not _PLAIN_NAME.fullmatch(column):
        return _rows(queries.null_rows(column), part)
    return _expectation("expect_column_values_to_not_be_null", {"column": column}, part)


def _unique(columns: list[str], part: str) -> Expectation:
    if not all(map(_PLAIN_NAME.fullmatch, columns)):
        # Great Expectations takes a dot for a field of a struct, and quotes no name in Spark.
        return _rows(queries.shared_key_rows(columns), part)
    if len(columns) == 1:
        return _expectation("expect_column_values_to_be_unique", {"column": columns[0]}, part)
    several = {"column_list": columns, "ignore_row_if": "any_value_is_missing"}
    return _expectation("expect_compound_columns_to_be_unique", several, part)


def _rows(query: str, part: str) -> Expectation:
    return _expectation("unexpected_rows_expectation", {"unexpected_rows_query": query}, part)


def _expectation(kind: str, kwargs: Expectation, part: str) -> Expectation:
    """An expectation; the part of the catalog that it states is unique within the table."""
    return {"type": kind, "kwargs": kwargs, "meta": {"scrub": part}}


def _id_of(*names: str) -> str:
    return str(uuid.uuid5(_IDS, json.dumps(names)))
