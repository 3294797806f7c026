# SPDX-License-Identifier: Apache-2.0
"""Shows a defect's entries in two cells, only where they differ."""

from collections.abc import Collection, Mapping
from itertools import takewhile

from reports.escaping import column_name, literal, printable
from scrub.model.defect import Defect, Value

_VALUE_CHARACTERS_MAX = 60
_SAME_CHARACTERS_KEPT = 20


def fields(entry: Mapping[str, Value] | None) -> str:
    """All columns in full: a key must be enough to find the defect by hand."""
    if entry is None:
        return "-"
    return ", ".join(f"{column_name(name)}={literal(value)}" for name, value in entry.items())


def entry_cells(defect: Defect) -> tuple[str, str]:
    """Expected and actual: the differing columns, or the entry against its absence."""
    expected, actual = defect.expected, defect.actual
    if expected is not None and actual is not None:
        names = defect.differing_columns
        return _columns(expected, names, actual), _columns(actual, names, expected)
    if expected is not None:
        return _beyond_keys(defect, expected), "absent"
    if actual is not None:
        return "absent", _beyond_keys(defect, actual)
    return "-", "-"


def defect_line(defect: Defect) -> str:
    """A defect in one line, for formats without tables."""
    expected, actual = entry_cells(defect)
    key = f"0x{defect.key_hex}" if defect.primary_key is None and defect.key_hex else None
    parts = [
        f"{defect.kind} at {key or fields(defect.primary_key)}",
        f"index key {fields(defect.index_key)}" if defect.index_key else "",
        f"expected {expected}, actual {actual}" if expected != actual else "",
        f"column {column_name(defect.column)}" if defect.column else "",
        defect.detail,
    ]
    return printable("; ".join(part for part in parts if part))


def _beyond_keys(defect: Defect, entry: Mapping[str, Value]) -> str:
    keys = {**(defect.primary_key or {}), **(defect.index_key or {})}
    return _columns(entry, [name for name in entry if name not in keys]) or "present"


def _columns(
    entry: Mapping[str, Value], names: Collection[str], other: Mapping[str, Value] | None = None
) -> str:
    return ", ".join(
        f"{column_name(name)}={_abbreviated(entry.get(name), other.get(name) if other else None)}"
        for name in names
    )


def _abbreviated(value: Value, other: Value) -> str:
    """A long value from shortly before the place where it differs from the other one."""
    text = literal(value)
    if len(text) <= _VALUE_CHARACTERS_MAX:
        return text
    same = _common_prefix_length(text, literal(other))
    start = max(0, same - _SAME_CHARACTERS_KEPT)
    end = start + _VALUE_CHARACTERS_MAX
    before, after = "..." if start else "", "..." if end < len(text) else ""
    return f"{before}{text[start:end]}{after} ({len(text):,} characters)"


def _common_prefix_length(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def index_cell(name: str) -> str:
    """The index that an action changes; one without a name stands for the table's own pairs."""
    return printable(name) or "the table"
