# SPDX-License-Identifier: Apache-2.0
"""Rows that the table does not have and that several of its indexes tell alike."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.repair import Entry, LostRow, ToldEntry
from scrub.model.table import Table

AGREEING_MIN = 2


def lost_rows(
    defects: Sequence[Defect], tables: Mapping[str, Table], present: Iterable[tuple[str, Entry]]
) -> Iterator[LostRow]:
    """Absent rows that two indexes or more tell alike."""
    there = {(table, key_of(key)) for table, key in present}
    there |= {
        (d.table, key_of(d.primary_key)) for d in defects if d.kind is not DefectKind.DANGLING
    }
    told: dict[tuple[str, object], list[Defect]] = defaultdict(list)
    for defect in defects:
        if defect.kind is DefectKind.DANGLING and defect.actual and defect.primary_key:
            told[defect.table, key_of(defect.primary_key)].append(defect)
    for (table_name, _), found in told.items():
        table = tables.get(table_name)
        names = {defect.index for defect in found}
        if table is None or len(names) < AGREEING_MIN or len(names) < len(found):
            continue  # one index tells the row twice: then they do not agree
        if (table_name, key_of(found[0].primary_key)) in there:
            continue
        columns = _agreed([_columns_told(defect, table) for defect in found])
        if columns is not None:
            yield LostRow(
                table=table_name,
                primary_key=found[0].primary_key or {},
                columns=columns,
                indexes=tuple(sorted(name for name in names if name)),
                absent_columns=tuple(c.name for c in table.columns if c.name not in columns),
                told=tuple(
                    ToldEntry(index=d.index or "", defect=d.id, entry=d.actual or {}) for d in found
                ),
            )


def _columns_told(defect: Defect, table: Table) -> Entry:
    """The table's columns that an entry holds as they are."""
    index = table.index(defect.index or "")
    actual = defect.actual or {}
    return {
        column.source: actual[column.name]
        for column in index.entry
        if not column.is_expression and column.name in actual
    }


def _agreed(entries: Sequence[Entry]) -> Entry | None:
    """All columns together; None if two entries tell one of them differently."""
    together: dict[str, Value] = {}
    for entry in entries:
        for name, value in entry.items():
            if name in together and together[name] != value:
                return None
            together[name] = value
    return together


def key_of(entry: Entry | None) -> object:
    """A primary key as something to look up by."""
    return None if entry is None else tuple(sorted(entry.items(), key=lambda item: item[0]))
