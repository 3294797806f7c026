# SPDX-License-Identifier: Apache-2.0
"""Shows a defect's entries in two cells, only where they differ."""

from collections.abc import Callable, Collection, Mapping

from reports.escaping import column_name, part_of_literal, printable, value_literal
from reports.quantities import counted
from reports.truncation import told_length, truncate
from scrub.model.defect import Defect, Value

_KEY_CHARACTERS_MAX = 200
_CELL_CHARACTERS_MAX = 600
_VALUE_CHARACTERS_MAX = 60
_SAME_CHARACTERS_KEPT = 20


def fields(entry: Mapping[str, Value] | None) -> str:
    """The columns of a key or an entry: in full, unless that would be too long to be read."""
    if entry is None:
        return "-"
    return _listed(entry, lambda name: _beginning(entry[name]))


def entry_cells(defect: Defect) -> tuple[str, str]:
    """Expected and actual: the differing columns, or the entry against its absence."""
    expected, actual = defect.expected, defect.actual
    if expected is not None and actual is not None:
        names = defect.differing_columns
        return _columns(expected, names, actual), _columns(actual, names, expected)
    if expected is not None:
        return _beyond_keys(defect, expected), "absent"
    if actual is not None:
        # A constraint is about values that a row has, and expects no entry.
        return "absent" if defect.constraint is None else "-", _beyond_keys(defect, actual)
    return "-", "-"


def defect_text(defect: Defect) -> str:
    """A defect in one line, for formats without tables."""
    expected, actual = entry_cells(defect)
    key = hex_cell(defect.key_hex) if defect.primary_key is None and defect.key_hex else None
    parts = [
        f"{defect.kind} at {key or fields(defect.primary_key)}",
        f"index key {fields(defect.index_key)}" if defect.index_key else "",
        f"expected {expected}, actual {actual}" if expected != actual else "",
        f"column {column_name(defect.column)}" if defect.column else "",
        truncate(defect.detail),
    ]
    return printable("; ".join(part for part in parts if part))


def _beyond_keys(defect: Defect, entry: Mapping[str, Value]) -> str:
    keys = {**(defect.primary_key or {}), **(defect.index_key or {})}
    return _columns(entry, [name for name in entry if name not in keys]) or "present"


def _columns(
    entry: Mapping[str, Value], names: Collection[str], other: Mapping[str, Value] | None = None
) -> str:
    def shown(name: str) -> str:
        return _abbreviated(entry.get(name), other.get(name) if other else None)

    return _listed(names, shown)


def _listed(names: Collection[str], shown: Callable[[str], str]) -> str:
    """Columns with their values, as many as a cell has room for, and at least one."""
    told: list[str] = []
    for name in names:
        if sum(map(len, told)) > _CELL_CHARACTERS_MAX:
            more = len(names) - len(told)
            return f"{', '.join(told)} and {counted(more, 'more column', 'more columns')}"
        told.append(f"{column_name(truncate(name, _KEY_CHARACTERS_MAX))}={shown(name)}")
    return ", ".join(told)


def _beginning(value: Value) -> str:
    if isinstance(value, str) and len(value) > _KEY_CHARACTERS_MAX:
        return part_of_literal(value, 0, _KEY_CHARACTERS_MAX)
    return truncate(value_literal(value))


def _abbreviated(value: Value, other: Value) -> str:
    """A long value from shortly before the place where it differs from the other one."""
    if not isinstance(value, str) or len(value) <= _VALUE_CHARACTERS_MAX:
        return truncate(value_literal(value))
    same = _common_prefix_length(value, other) if isinstance(other, str) else 0
    start = max(0, same - _SAME_CHARACTERS_KEPT)
    return part_of_literal(value, start, start + _VALUE_CHARACTERS_MAX)


def _common_prefix_length(one: str, other: str) -> int:
    """By halving: values may have millions of characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def hex_cell(octets: str) -> str:
    """A key as bytes, given in hexadecimal digits."""
    shown = printable(octets[:_KEY_CHARACTERS_MAX])
    rest = told_length(len(octets) // 2, "bytes") if len(octets) > _KEY_CHARACTERS_MAX else ""
    return f"0x{shown}{rest}"


def index_cell(name: str) -> str:
    """The index that an action changes; one without a name stands for the table's own pairs."""
    return printable(name) or "the table"
