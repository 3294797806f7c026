# SPDX-License-Identifier: Apache-2.0
"""The tables of random trials once more, as key-value pairs."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrub.catalog import load_catalog
from tests.checks.constraints.oracle import ConstraintTrial, ForeignKeyTrial, values_of
from tests.checks.pairs.pair_ground import stored, write_file
from tests.checks.trials import Row
from tests.scrub.codec.kv.reference_pairs import encode_row

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def as_pairs(trial: ConstraintTrial) -> ConstraintTrial:
    """The trial with the rows that pairs can hold: a key has no NULL, and belongs to one row."""
    references = {
        name: ForeignKeyTrial(
            of.columns,
            of.parent and replace(of.parent, rows=_with_keys(of.parent.rows, [*of.parent.types])),
        )
        for name, of in trial.foreign_keys.items()
    }
    rows = _with_keys(trial.rows, trial.primary_key)
    return replace(trial, rows=rows, foreign_keys=references)


def write_pairs(catalog: Path, name: str, rows: list[Row]) -> None:
    """The rows of a table that the catalog describes, in two files."""
    table = load_catalog(catalog).tables[name].kv
    assert table is not None
    pairs = [
        pair
        for row in rows
        for pair in stored(encode_row(table, {c.id: _datum(row[c.name]) for c in table.columns}))
    ]
    relation = catalog.parent / name
    relation.mkdir()
    for number in range(2):
        write_file(relation / f"{number}.parquet", pairs[number::2])


def _with_keys(rows: list[Row], key: list[str]) -> list[Row]:
    by_key = {values_of(row, key): row for row in rows}
    return [row for values, row in by_key.items() if None not in values]


def _datum(value: Any) -> Any:
    """A value as the reference encoder takes it."""
    match value:
        case str():
            return value.encode()
        case dt.datetime():
            micros = (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
            return micros // 1_000_000, micros % 1_000_000 * 1000
        case dt.date():
            return (value - _EPOCH.date()).days
        case _:
            return value
