# SPDX-License-Identifier: Apache-2.0
"""What was found in one of the database's own indexes, in the words of the model; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scrub.codec.json_values import from_text
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.own_indexes.description import OwnIndex
from scrub.stores.postgres.own_indexes.reader import RowValues, Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something wrong, before anybody looked at the values of its row."""

    kind: DefectKind
    row: str | None = None  # where it lies
    entry: Texts | None = None  # what the index holds
    before: Texts | None = None  # the key that comes before it
    alike: str | None = None  # a row that gives what the entry holds, if that is not known
    due: Texts | None = None  # what a row gives, if it is not known where it lies
    how: str | None = None  # it was found, if that is not obvious


class OwnIndexDefects:
    """Defects of one index that holds entries itself."""

    def __init__(self, table: Table, index: Index, native: OwnIndex, snapshot: str) -> None:
        self.table, self.index, self.native, self.snapshot = table, index, native, snapshot
        self.names = entry_names(index, native)
        self.keys = len(native.keys)
        self.unheld: frozenset[str] = frozenset()  # columns that entries were read without

    def defect(self, found: Found, rows: Mapping[str, RowValues]) -> Defect:
        """What was found, with the values of the rows it concerns."""
        values = rows.get(found.row) if found.row is not None else None
        alike = rows.get(found.alike) if found.alike is not None else None
        entry = self._held(found.entry) if found.entry is not None else None
        if alike is not None:
            entry = self._held(alike.texts)
        given = values.texts if values else found.due
        of_row = self._entry(given) if given is not None else None
        primary_key = self._primary_key(values.primary_key) if values else self._in(entry or of_row)
        expected, actual = self._sides(found.kind, entry, of_row)
        known = {**(of_row or {}), **(entry or {})}
        return Defect(
            kind=found.kind,
            table=self.table.name,
            index=self.index.name,
            primary_key=primary_key,
            index_key={name: known.get(name) for name in self.names[: self.keys]},
            expected=_with(primary_key, expected),
            actual=_with(primary_key, actual),
            snapshot=self.snapshot,
            detail=self._detail(found, entry, of_row),
        )

    @staticmethod
    def _sides(
        kind: DefectKind, entry: dict[str, Value] | None, of_row: dict[str, Value] | None
    ) -> tuple[dict[str, Value] | None, dict[str, Value] | None]:
        match kind:
            case DefectKind.MISSING:
                return of_row, None
            case DefectKind.WRONG_STORED_VALUE:
                return of_row, entry
            case DefectKind.UNIQUE_VIOLATION:
                return None, None
            case DefectKind.DUPLICATE_ENTRY:
                return of_row, of_row
            case DefectKind.KEY_ORDER if entry is None:
                return of_row, None
            case _:
                return None, entry or of_row

    def _detail(
        self, found: Found, entry: dict[str, Value] | None, of_row: dict[str, Value] | None
    ) -> str:
        parts = [found.how] if found.how else []
        match found.kind:
            case DefectKind.UNIQUE_VIOLATION:
                parts.append("another row has the same index key")
            case DefectKind.DUPLICATE_ENTRY | DefectKind.DANGLING if not self.native.is_readable:
                parts.append("more entries hold this than rows give it")
            case DefectKind.DUPLICATE_ENTRY:
                parts.append("more than one entry leads to the row")
            case DefectKind.KEY_ORDER:
                parts.append(f"comes after {self._told(found.before)}, before which it belongs")
            case DefectKind.DANGLING if of_row is None:
                parts.append("leads to no row")
            case DefectKind.DANGLING if entry is None:
                parts.append("the row does not satisfy the index's condition")
            case DefectKind.DANGLING:
                own = {name: of_row[name] for name in self.names[: self.keys]} if of_row else {}
                parts.append(f"leads to a row that gives {_listed(own)}")
        if self.native.name != self.index.relation.rpartition(".")[2]:
            parts.append(f"in {self.native.name}")
        return "; ".join(parts)

    def _told(self, texts: Texts | None) -> str:
        keys = self.native.keys
        values = [shown(t, c.type) for t, c in zip(texts or (), keys, strict=True)]
        return _listed(dict(zip(self.names, values, strict=False)))

    def _entry(self, texts: Texts) -> dict[str, Value]:
        columns = zip(self.names, texts, self.native.columns, strict=True)
        return {name: shown(text, column.type) for name, text, column in columns}

    def _held(self, texts: Texts) -> dict[str, Value]:
        """What an entry holds, as far as it could be read."""
        numbers = [n for n, column in enumerate(self.native.columns) if column.name in self.unheld]
        unheld = {self.names[n] for n in numbers}
        return {name: value for name, value in self._entry(texts).items() if name not in unheld}

    def _primary_key(self, texts: Texts) -> dict[str, Value]:
        names = self.table.primary_key
        return {
            name: shown(text, self.table.column(name).type)
            for name, text in zip(names, texts, strict=True)
        }

    def _in(self, entry: Mapping[str, Value] | None) -> dict[str, Value] | None:
        """The primary key, if the index happens to hold all of it."""
        names = self.table.primary_key
        if entry is None or not set(names) <= set(entry):
            return None
        return {name: entry[name] for name in names}


def _with(
    primary_key: Mapping[str, Value] | None, values: Mapping[str, Value] | None
) -> dict[str, Value] | None:
    """Values with the primary key; what an entry holds of it may be another than its row's."""
    if values is None:
        return None
    more = {name: value for name, value in (primary_key or {}).items() if name not in values}
    return {**values, **more}


def entry_names(index: Index, native: OwnIndex) -> list[str]:
    """What the columns are called: as in the catalog, if it means as many."""
    names = [column.name for column in native.columns]
    if len(index.key) == len(native.keys):
        names[: len(index.key)] = [column.name for column in index.key]
    return names


def shown(text: str | None, column_type: ColumnType | None) -> Value:
    """What a report shows for the server's text of a value."""
    if text is None or column_type is None:
        return text
    match column_type.name:
        case TypeName.BINARY:
            return text.removeprefix("\\x")
        case TypeName.TIMESTAMP:
            return _instant(text)
        case _:
            return from_text(text, column_type)


def _instant(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat().replace("+00:00", "Z")
    except ValueError:  # infinity, or a year that Python does not know
        return text


def _listed(values: Mapping[str, Value]) -> str:
    told = {name: "NULL" if value is None else value for name, value in values.items()}
    return ", ".join(f"{name}={value}" for name, value in told.items())
