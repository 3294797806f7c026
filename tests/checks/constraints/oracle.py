# SPDX-License-Identifier: Apache-2.0
"""A plain reading of SQL's rules that says which rows violate which constraints.

The oracle shares no code with the product: it works on Python values, row by row.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.checks.trials import Row, canonical, shown

Found = Counter[tuple[str, str, str, str]]
"""How often (kind, constraint, primary key, key or column) was found; keys are JSON."""


@dataclass
class CheckTrial:
    """A condition, as SQL and as Python: true, false or None."""

    sql: str
    value: Callable[[Row], bool | None]


@dataclass
class ParentTrial:
    """A table that others refer to by its primary key."""

    name: str
    types: dict[str, str]  # of the primary key, in its order
    rows: list[Row]


@dataclass
class ForeignKeyTrial:
    """Columns that refer to the primary key of a parent; None: of the table itself."""

    columns: list[str]
    parent: ParentTrial | None


@dataclass
class ConstraintTrial:
    """A table, its rows, and what a catalog promises of them."""

    types: dict[str, str]
    primary_key: list[str]
    rows: list[Row]
    never_null: list[str] = field(default_factory=list)  # beside the primary key
    checks: dict[str, CheckTrial] = field(default_factory=dict)
    unique: dict[str, list[str]] = field(default_factory=dict)
    foreign_keys: dict[str, ForeignKeyTrial] = field(default_factory=dict)


def oracle(trial: ConstraintTrial) -> Found:
    """Every violation of every constraint."""
    return (
        _nulls(trial) + _false_checks(trial) + _repeated(trial) + _shared(trial) + _unmatched(trial)
    )


def values_of(row: Row, columns: list[str]) -> tuple[Any, ...]:
    """Some values of a row; equal ones are equal objects."""
    return tuple(canonical(row[column]) for column in columns)


def as_json(row: Row, columns: list[str]) -> str:
    """Some values of a row as reports show them."""
    return json.dumps({column: shown(row[column]) for column in columns}, sort_keys=True)


def _nulls(trial: ConstraintTrial) -> Found:
    never = dict.fromkeys([*trial.primary_key, *trial.never_null])
    return Counter(
        ("null_violation", "not_null", as_json(row, trial.primary_key), column)
        for row in trial.rows
        for column in never
        if row[column] is None
    )


def _false_checks(trial: ConstraintTrial) -> Found:
    return Counter(
        ("check_violation", name, as_json(row, trial.primary_key), "")
        for name, check in trial.checks.items()
        for row in trial.rows
        if check.value(row) is False
    )


def _repeated(trial: ConstraintTrial) -> Found:
    """Each primary key that several rows have, once; one with a NULL equals no other."""
    key = trial.primary_key
    rows = {values_of(row, key): row for row in trial.rows}
    numbers = Counter(values_of(row, key) for row in trial.rows)
    return Counter(
        ("duplicate_primary_key", "primary_key", as_json(rows[values], key), "")
        for values, number in numbers.items()
        if number > 1 and None not in values
    )


def _shared(trial: ConstraintTrial) -> Found:
    """Rows that share a key with another row; copies of one row are no other row.

    A defect is told by its keys: rows that have both in common are reported once.
    """
    found: Found = Counter()
    for name, key in trial.unique.items():
        owners: dict[tuple[Any, ...], list[Row]] = {}
        for row in trial.rows:
            values = values_of(row, key)
            if None not in values:
                owners.setdefault(values, []).append(row)
        for rows in owners.values():
            primary_keys = [values_of(row, trial.primary_key) for row in rows]
            complete = {values for values in primary_keys if None not in values}
            without = sum(None in values for values in primary_keys)
            if len(complete) + without > 1:
                found += Counter(
                    {
                        ("unique_violation", name, *_both_keys(row, trial.primary_key, key))
                        for row in rows
                    }
                )
    return found


def _unmatched(trial: ConstraintTrial) -> Found:
    """Rows that refer to a key that no row of the parent has."""
    found: Found = Counter()
    for name, reference in trial.foreign_keys.items():
        parent = reference.parent
        of = list(parent.types) if parent else trial.primary_key
        rows = parent.rows if parent else trial.rows
        keys = {values_of(row, of) for row in rows}
        for row in trial.rows:
            values = values_of(row, reference.columns)
            if None not in values and values not in keys:
                both = _both_keys(row, trial.primary_key, reference.columns)
                found["foreign_key_violation", name, *both] += 1
    return found


def _both_keys(row: Row, primary_key: list[str], key: list[str]) -> tuple[str, str]:
    return as_json(row, primary_key), as_json(row, key)
