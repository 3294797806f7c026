# SPDX-License-Identifier: Apache-2.0
"""Naming what a check of whole tables counted: the jobs, and their rows as defects."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from checks.check import TableCheck
from checks.fault_rows import FAULT_SCHEMA, FaultySplit, NamingSpec, name_faults, row_columns
from checks.numbering import Relation
from checks.part_faults import PartFaults
from checks.parts import Part
from checks.specs import rows_looked_at
from checks.task_sums import TASKS_PER_CORE
from checks.work import Work
from scrub.codec.json_values import from_text, key_value
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ORDER = ("part", "place", "primary_key", "column")

Faulty = tuple[Part, PartFaults]


def worth_naming(faults: Sequence[Faulty]) -> list[Faulty]:
    """The parts with defects; what concerns a whole file is left to the first of its parts."""
    named: list[Faulty] = []
    files: set[str] = set()
    for part, of_part in faults:
        told = _file_of(part) in files
        if of_part.misfits:
            files.add(_file_of(part))
        own = replace(of_part, misfits=()) if told else of_part
        if own.by_kind():
            named.append((part, own))
    return named


def faults_of_splits(
    cores: int,
    check: TableCheck,
    relation: Relation,
    faulty: Sequence[Faulty],
    limit: int | None,
) -> Work:
    """A job that reads splits again, as few as hold so many faults; as FAULT_SCHEMA."""
    splits: list[FaultySplit] = []
    expected = 0
    for part, faults in faulty:
        if limit is not None and expected >= limit:
            break
        expected += sum(faults.by_kind().values())
        splits.append(FaultySplit(part.number, part.splits[0], bool(faults.misfits)))
    count = min(len(splits), TASKS_PER_CORE * cores)
    tasks = [splits[number::count] for number in range(count)]
    table = relation.table.table
    spec = NamingSpec(
        look=check.look(table),
        looked_at=rows_looked_at(relation.table),
        key=tuple(map(table.column, table.primary_key)),
        shown=check.shown(table),
        row=row_columns(table),
        storage_options=relation.side.facts.storage_options,
    )
    task = partial(name_faults, spec=spec, limit=limit)
    return Work(given=tasks, task=task, schema=FAULT_SCHEMA)


def in_order(faults: "DataFrame", limit: int | None) -> "DataFrame":
    ordered = faults.orderBy(*_ORDER)
    return ordered if limit is None else ordered.limit(limit)


def held_in_order(faults: pa.Table, limit: int | None) -> list[Mapping[str, Any]]:
    """The same of faults that are held here; Spark puts NULL first."""
    rows: list[Mapping[str, Any]] = faults.to_pylist()
    return sorted(rows, key=lambda row: [_in_order(row[name]) for name in _ORDER])[:limit]


def _in_order(value: Any) -> tuple[bool, Any]:
    if isinstance(value, list):
        return True, [_in_order(part) for part in value]
    return value is not None, value if value is not None else 0


def to_defect(
    row: Mapping[str, Any], check: TableCheck, relation: Relation, part: Part | None
) -> Defect:
    """A row of FAULT_SCHEMA as the model's defect.

    Where the key does not tell which row it is, the file and the row's place in it do, and the
    digest of the row stands for it in the defect's id.
    """
    table, texts = relation.table.table, row["primary_key"]
    key = None
    if texts is not None:
        stored = _values(map(table.column, table.primary_key), texts)
        key = {name: key_value(value) for name, value in stored.items()}
    file, detail = None, row["detail"]
    if part is not None and key is None:
        file = _file_of(part)
        detail = f"{detail}, in {file}"
    elif part is not None and key is not None and None in key.values():
        file = f"{part.name}, row {row['place'] + 1}"
        detail = f"{detail}: {file}"
    defect = Defect(
        kind=DefectKind(row["kind"]),
        table=table.name,
        index=None,
        primary_key=key,
        index_key=None,
        expected=None,
        actual=None,
        snapshot=relation.side.facts.snapshot.label,
        detail=detail,
        value_hex=row["value_hex"],
        column=row["column"],
        file=file,
        stored_type=row["stored_type"],
        row_digest=row_digest(row["row"], table) if key is not None else None,
    )
    return check.dressed(defect, _values(check.shown(table), row["shown"] or ()))


def _values(columns: Iterable[Column], texts: Sequence[str | None]) -> dict[str, Value]:
    return {c.name: from_text(text, c.type) for c, text in zip(columns, texts, strict=False)}


def row_digest(texts: Sequence[str | None] | None, table: Table) -> str | None:
    """The same for the same row, whoever read it; a column that is NULL, or is not there, is alike.

    Texts of one value may differ between engines, the values that reports show for them do not.
    """
    if texts is None:
        return None
    values = {
        column.name: from_text(text, column.type)
        for column, text in zip(row_columns(table), texts, strict=True)
        if text is not None
    }
    told = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def misfit_defects(
    check: TableCheck, relation: Relation, misfits: Mapping[str, str]
) -> Iterator[Defect]:
    """Columns that a whole relation holds in another type."""
    stored = relation.side.facts.columns
    for column, reason in sorted(misfits.items()):
        row: dict[str, Any] = {
            "kind": DefectKind.INVALID_ENCODING.value,
            "column": column,
            "detail": reason,
            "primary_key": None,
            "value_hex": None,
            "stored_type": str(stored.get(column) or "another type"),
            "row": None,
            "shown": None,
        }
        yield to_defect(row, check, relation, None)


def _file_of(part: Part) -> str:
    return part.splits[0].uri if part.splits else part.name
