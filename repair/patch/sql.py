# SPDX-License-Identifier: Apache-2.0
"""Actions as SQL that people can read, and run when they like: pure, and nothing is run here.

Time passes before a patch is run. So every statement carries its own condition: what it replaces or
deletes is exactly what the defect told, what it puts finds its place free, and, where the table is
in the same database, the row is asked again. Run twice, it changes nothing the second time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from repair.patch.dialects import Dialect, Unsayable
from scrub.model.defect import Value
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, ActionKind, Entry
from scrub.model.types import ColumnType

_VERBS = {
    ActionKind.DELETE: "delete the entry",
    ActionKind.KEEP_ONE: "remove all copies but one",
    ActionKind.REPLACE: "replace the stored columns",
    ActionKind.PUT: "put the missing entry",
}
"""In the order of the statements: what goes makes room, in a unique index, for what comes."""


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a relation in the database."""

    name: str  # quoted
    compared: str  # an expression of the catalog's type, in which equal values are equal
    type: ColumnType
    is_sought: bool = False  # whether values are also sought as they are, which indexes help


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSql:
    """How the rows of the table are asked whether they demand an entry."""

    relation: str
    key: Mapping[str, SqlColumn]  # by name in the catalog
    values: Mapping[str, SqlColumn]  # by column of the entry: what a row puts there
    conditions: tuple[str, ...] = ()  # which rows have an entry
    is_exact: bool = True  # False: expressions or conditions have a say that this leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTarget:
    """An index in a database, with everything that statements about it need."""

    dialect: Dialect
    relation: str
    columns: Mapping[str, SqlColumn]  # by name in the catalog
    row: RowSql | None  # None: the table is elsewhere, so nobody can ask its rows
    settings: tuple[str, ...] = ()  # further statements at the beginning of the transaction

    @property
    def opening(self) -> tuple[str, ...]:
        """Nobody writes between a statement's look and the end of the transaction."""
        relations = [self.relation] if self.row is None else [self.row.relation, self.relation]
        return (*self.dialect.begin, *self.settings, *self.dialect.locking(relations))


@dataclass(frozen=True, slots=True)
class SqlPatch:
    """A script, how many changes it makes, and which ones it cannot make."""

    text: str
    changes: int
    left_out: Mapping[str, str]  # by defect, why


def patch_as_sql(
    actions: Sequence[Action], shape: EntryShape, target: SqlTarget, title: str
) -> SqlPatch:
    """One transaction; `title` says in one line what it is."""
    statements = _Statements(shape, target)
    parts: list[str] = []
    left_out: dict[str, str] = {}
    for kind, verb in _VERBS.items():
        for action in (action for action in actions if action.kind is kind):
            try:
                made = list(statements.of(action))
            except Unsayable as error:
                left_out[action.defect] = str(error)
            else:
                note = f"-- {verb}; defect {on_one_line(action.defect)}"
                parts.append("\n".join([note, *(f"{one};" for one in made)]))
    opening = [f"{one};" for one in target.opening]
    head = [f"-- {line}" for line in _remarks(title, target, len(parts), len(left_out))]
    text = "\n\n".join(["\n".join([*head, *opening]), *parts, "COMMIT;"]) + "\n"
    return SqlPatch(text, len(parts), left_out)


def reindex_as_sql(actions: Sequence[Action], title: str) -> SqlPatch:
    """An index of the database's own is built anew, which no transaction may hold."""
    lines = [f"-- {on_one_line(title)}", *(f"{action.statement};" for action in actions)]
    return SqlPatch("\n".join(lines) + "\n", len(actions), {})


def on_one_line(text: str) -> str:
    """A comment must not end early, whatever an index is called."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _remarks(title: str, target: SqlTarget, changes: int, left_out: int) -> Iterator[str]:
    yield on_one_line(title)
    yield f"{target.dialect.title}; {changes} changes in one transaction, which may be run again."
    if target.row is None:
        yield "The table is not in this database: nothing here can ask whether a row has changed."
    elif not target.row.is_exact:
        yield "Not all that decides whether a row has an entry can be asked here: see the manual."
    if not target.dialect.begin:
        yield "Turn autocommit off before you run it."
    if left_out:
        yield f"{left_out} more changes cannot be written in SQL: patch.json names them."


@dataclass(frozen=True, slots=True)
class _Statements:
    shape: EntryShape
    target: SqlTarget

    def of(self, action: Action) -> Iterator[str]:
        before, after = action.before, action.after
        match action.kind:
            case ActionKind.DELETE if before is not None:
                yield self._delete(before, self._demanded_not(action, before))
            case ActionKind.KEEP_ONE if before is not None:
                yield self._delete(
                    before, [self._is_not_first(before), *self._demanded(action, before)]
                )
            case ActionKind.REPLACE if before is not None and after is not None:
                yield self._update(before, after, self._demanded(action, after))
                # Where the right entry was there beside it, and copies of the wrong one.
                there = f"EXISTS ({self._select(after)})"
                yield self._delete(before, [there, *self._demanded(action, after)])
            case ActionKind.PUT if after is not None:
                yield self._insert(after, self._demanded(action, after))

    def _delete(self, entry: Entry, conditions: Sequence[str]) -> str:
        return _lines(f"DELETE FROM {self.target.relation}", [self._equals(entry), *conditions])

    def _update(self, before: Entry, after: Entry, conditions: Sequence[str]) -> str:
        values = ", ".join(
            f"{column.name} = {self.target.dialect.assigned(after[name], column.type)}"
            for name, column in self.target.columns.items()
            if before[name] != after[name]
        )
        place = self.target.dialect.place
        which = (
            f"{place} = (SELECT {place[1:-1]} FROM {self.target.relation} "
            f"WHERE {self._equals(before)} LIMIT 1)"
            if place
            else self._equals(before)
        )
        free = f"NOT EXISTS ({self._select(after)})"
        return _lines(f"UPDATE {self.target.relation} SET {values}", [which, free, *conditions])

    def _insert(self, entry: Entry, conditions: Sequence[str]) -> str:
        columns = self.target.columns
        names = ", ".join(column.name for column in columns.values())
        values = ", ".join(
            self.target.dialect.assigned(entry[name], column.type)
            for name, column in columns.items()
        )
        free = f"NOT EXISTS ({self._select(entry, self._telling(entry))})"
        return _lines(
            f"INSERT INTO {self.target.relation} ({names})\nSELECT {values}"
            f"{self.target.dialect.from_nothing}",
            [free, *conditions],
        )

    def _is_not_first(self, entry: Entry) -> str:
        place = self.target.dialect.place
        if place is None:
            raise Unsayable("nothing in this database distinguishes copies of an entry")
        return (
            f"{place} <> (SELECT {place[1:-1]} FROM {self.target.relation} "
            f"WHERE {self._equals(entry)} LIMIT 1)"
        )

    def _select(self, entry: Entry, names: Sequence[str] | None = None) -> str:
        return f"SELECT 1 FROM {self.target.relation} WHERE {self._equals(entry, names)}"

    def _telling(self, entry: Entry) -> list[str]:
        """What no two entries share: rows with NULLs never clash in a unique index."""
        indexed = [column.name for column in self.shape.indexed]
        if self.shape.unique and all(entry[name] is not None for name in indexed):
            return indexed
        return indexed + [column.name for column in self.shape.suffix]

    def _equals(self, entry: Entry, names: Sequence[str] | None = None) -> str:
        columns = self.target.columns
        return self._all_equal([(columns[n], entry[n]) for n in names or columns])

    def _all_equal(self, pairs: Sequence[tuple[SqlColumn, Value]]) -> str:
        return " AND ".join(one for column, value in pairs for one in self._equal(column, value))

    def _equal(self, column: SqlColumn, value: Value) -> Iterator[str]:
        if value is None:
            yield f"{column.compared} IS NULL"
            return
        if column.is_sought and column.compared != column.name:
            yield f"{column.name} = {self.target.dialect.assigned(value, column.type)}"
        yield f"{column.compared} = {self.target.dialect.compared(value, column.type)}"

    def _demanded(self, action: Action, entry: Entry) -> list[str]:
        """That the row still produces the entry, as far as it can be asked."""
        return [f"EXISTS ({self._row(action, entry)})"] if self.target.row else []

    def _demanded_not(self, action: Action, entry: Entry) -> list[str]:
        row = self.target.row
        return [f"NOT EXISTS ({self._row(action, entry)})"] if row and row.is_exact else []

    def _row(self, action: Action, entry: Entry) -> str:
        row = self.target.row
        assert row is not None, "whoever asks has looked"
        key = action.primary_key or {}
        told = {column: key[name] for name, column in row.key.items()}
        told |= {column: entry[name] for name, column in row.values.items()}
        conditions = [self._all_equal(list(told.items())), *row.conditions]
        return f"SELECT 1 FROM {row.relation} WHERE {' AND '.join(conditions)}"


def _lines(head: str, conditions: Sequence[str]) -> str:
    return head + "\nWHERE " + "\n  AND ".join(conditions)
