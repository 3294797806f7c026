# SPDX-License-Identifier: Apache-2.0
"""What a check must find, worked out row by row in plain Python, for indexes of plain columns."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from scrub.app.selftest_and_demo.key_values import DefectKey, planted_key
from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.model.defect import DefectKind
from scrub.model.table import Index, Nulls

Row = dict[str, Any]
Covers = Callable[[Row], bool]


def entry_of(row: Row, index: Index) -> Row:
    return {column.name: row[column.source] for column in index.entry}


def covers(row: Row, index: Index, conditions: Mapping[str, Covers]) -> bool:
    if index.nulls is Nulls.SKIP and any(row[column.source] is None for column in index.key):
        return False
    return index.where is None or conditions[index.where](row)


def defects_of(copy: TableCopy, conditions: Mapping[str, Covers]) -> Counter[DefectKey]:
    """Every defect of a copy; `conditions` says what each `where` means."""
    found: Counter[DefectKey] = Counter()
    doubled: set[Any] = set()
    for index in copy.table.indexes:
        names = [column.name for column in index.key + index.suffix]
        stored = [column.name for column in index.stored]
        groups: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
        rows = [row for row in copy.rows.to_pylist() if covers(row, index, conditions)]
        for side, entries in enumerate(
            ([entry_of(row, index) for row in rows], copy.entries[index.name].to_pylist())
        ):
            for entry in entries:
                identity = tuple(entry[name] for name in names)
                groups[identity][side].append(tuple(entry[name] for name in stored))
        for identity, (expected, actual) in groups.items():
            for kind in kinds(expected, actual):
                key = name_defect(kind, copy, index, dict(zip(names, identity, strict=True)))
                if kind is DefectKind.DUPLICATE_KEY and key.primary_key in doubled:
                    continue
                if kind is DefectKind.DUPLICATE_KEY:
                    doubled.add(key.primary_key)
                found[key] += 1
        if index.unique:
            found.update(violations(copy, index, rows))
    return found


def kinds(expected: list[Any], actual: list[Any]) -> list[DefectKind]:
    if not actual:
        some = [DefectKind.MISSING]
    elif not expected:
        some = [DefectKind.DANGLING]
    else:
        some = [DefectKind.WRONG_STORED_VALUE] if set(expected) != set(actual) else []
    if len(actual) > max(len(expected), 1):
        some.append(DefectKind.DUPLICATE_ENTRY)
    if len(expected) > max(len(actual), 1):
        some.append(DefectKind.DUPLICATE_KEY)
    return some


def violations(copy: TableCopy, index: Index, rows: list[Row]) -> list[DefectKey]:
    owners: dict[Any, dict[Any, Row]] = defaultdict(dict)
    for row in rows:
        entry = entry_of(row, index)
        key = tuple(entry[column.name] for column in index.key)
        if None not in key:
            owners[key][tuple(row[name] for name in copy.table.primary_key)] = entry
    shared = [entry for of_key in owners.values() if len(of_key) > 1 for entry in of_key.values()]
    return [name_defect(DefectKind.UNIQUE_VIOLATION, copy, index, entry) for entry in shared]


def name_defect(kind: DefectKind, copy: TableCopy, index: Index, entry: Row) -> DefectKey:
    schema, table = copy.entries[index.name].schema, copy.table
    row = pa.table({n: pa.array([value], schema.field(n).type) for n, value in entry.items()})
    return DefectKey(
        kind=kind,
        table=table.name,
        index=index.name,
        primary_key=planted_key(row, {n: table.column(n).type for n in table.primary_key}),
        index_key=planted_key(row, {column.name: column.type for column in index.key}),
    )
