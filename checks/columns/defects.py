# SPDX-License-Identifier: Apache-2.0
"""Rows of the merge join in the words of the model."""

from collections.abc import Mapping, Sequence

from checks.named_defects import HeldDefect
from checks.numbering import Slot
from checks.scan_spec import entry_type as type_of
from scrub.codec.json_values import from_text
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import EntryColumn
from scrub.model.types import ColumnType


def to_defect(row: HeldDefect, slot: Slot) -> Defect:
    """A defect as checks.named_defects.DEFECT_SCHEMA as the model's defect."""
    table, index = slot.table.table, slot.index
    types = [table.column(name).type for name in table.primary_key]
    primary_key = _decode(table.primary_key, types, row["primary_key"])
    index_key = _decode_columns(index.key, row["index_key"])
    identity = index_key | {n: v for n, v in primary_key.items() if n not in index_key}
    kind = DefectKind(row["kind"])
    return Defect(
        kind=kind,
        table=table.name,
        index=index.name,
        primary_key=primary_key,
        index_key=index_key,
        expected=_entry(identity, index.stored, row["expected"]),
        actual=_entry(identity, index.stored, row["actual"]),
        snapshot=f"{slot.table.side.facts.snapshot.label}; "
        f"{index.name}: {slot.plan.side.facts.snapshot.label}",
        detail=_detail(kind, row["expected_copies"], row["actual_copies"]),
    )


def _entry(
    identity: Mapping[str, Value], stored: Sequence[EntryColumn], texts: Sequence[str | None] | None
) -> dict[str, Value] | None:
    return None if texts is None else dict(identity) | _decode_columns(stored, texts)


def _decode_columns(
    columns: Sequence[EntryColumn], texts: Sequence[str | None]
) -> dict[str, Value]:
    return _decode([c.name for c in columns], [type_of(c) for c in columns], texts)


def _decode(
    names: Sequence[str], types: Sequence[ColumnType], texts: Sequence[str | None]
) -> dict[str, Value]:
    return {
        name: from_text(text, column_type)
        for name, column_type, text in zip(names, types, texts, strict=True)
    }


def _detail(kind: DefectKind, expected: int, actual: int) -> str:
    if kind is DefectKind.UNIQUE_VIOLATION:
        return "another row has the same index key"
    if expected <= 1 and actual <= 1:
        return ""
    rows = "1 row" if expected == 1 else f"{expected} rows"
    return f"{rows}, 1 entry" if actual == 1 else f"{rows}, {actual} entries"
