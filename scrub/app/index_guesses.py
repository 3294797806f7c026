# SPDX-License-Identifier: Apache-2.0
"""Guesses which relation is an index of which table, and how its columns follow from the rows.

A guess must not end in a check that compares something else and calls it clean. So a column that
nothing explains is written as an expression to be filled in, and an index that covers fewer rows
as a condition to be filled in; a catalog with one of them is refused until somebody does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scrub.app.derivations import MATCHES_MIN, Derivation, Matched
from scrub.app.discovery import FoundRelation
from scrub.catalog.names import problem_of
from scrub.catalog.placeholders import FILL_IN
from scrub.model.entry_shape import MARK
from scrub.model.table import Column, EntryColumn, Nulls
from scrub.model.types import widens

_ROWS_RATIO_MAX = 2
_PARTIAL_SHARE_MAX = 0.9  # an index with more entries lacks some, rather than covers fewer rows
_NULLS_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexGuess:
    """How a relation could be an index of a table, and why."""

    name: str
    key: tuple[EntryColumn, ...]
    stored: tuple[EntryColumn, ...]
    why: str
    where: str | None = None
    nulls: Nulls = Nulls.KEEP
    dialect: str = "spark"
    to_fill_in: tuple[str, ...] = ()  # what a person must say before the catalog can be used


@dataclass(frozen=True, slots=True)
class _Explained:
    """A column of a relation: the table's own, one that follows from it, or one to be filled in."""

    column: Column
    derivation: Derivation | None  # None: nothing explains it

    @property
    def is_plain(self) -> bool:
        return self.derivation is not None and self.derivation.expression == ""


def guess_index(
    relation: FoundRelation,
    table: FoundRelation,
    primary_key: tuple[str, ...],
    dialect: str = "spark",
) -> IndexGuess | None:
    """How a relation could be an index of a table; None if it does not look like one."""
    types = {column.name: column.type for column in table.columns}
    shared = {
        column.name
        for column in relation.columns
        if column.name in types and widens(column.type, types[column.name])
    }
    own = (*primary_key, MARK)  # the mark is there only while the index is being built
    beside_key = [column for column in relation.columns if column.name not in own]
    if not set(primary_key) <= shared or not beside_key:
        return None
    plain = [column.name for column in beside_key if column.name in shared]
    if _contradicts(relation, table, primary_key, plain):
        return None
    matched = Matched.of(table, relation, primary_key, dialect)
    explained = [
        _Explained(
            column,
            Derivation("", column.name)
            if column.name in shared
            else matched.explain(column, table.columns),
        )
        for column in beside_key
    ]
    named = relation.name.startswith(f"{table.name}__")
    derived = all(of.derivation for of in explained) and len(relation.columns) < len(table.columns)
    if not (named or derived):
        return None
    return _guess(relation, table, primary_key, explained, named, dialect)


def _guess(
    relation: FoundRelation,
    table: FoundRelation,
    primary_key: tuple[str, ...],
    explained: Sequence[_Explained],
    named: bool,
    dialect: str,
) -> IndexGuess:
    names = [column.name for column in relation.columns]
    first_of_key = min(names.index(name) for name in primary_key)
    leading = set(names[:first_of_key])
    key = [of for of in explained if of.column.name in leading]
    if not key:
        key = [of for of in explained if of.is_plain][:1] or list(explained[:1])
    stored = [of for of in explained if of not in key]
    where, nulls, remark = _coverage(relation, table, key)
    computes = any(not of.is_plain for of in explained)
    own_dialect = dialect if computes else "spark"
    return IndexGuess(
        name=_index_name(relation.name, table.name),
        key=tuple(_entry_column(of, own_dialect) for of in key),
        stored=tuple(_entry_column(of, own_dialect) for of in stored),
        why=_why(relation, explained, named, remark),
        where=where,
        nulls=nulls,
        dialect=own_dialect,
        to_fill_in=tuple(_to_fill_in(table, explained, where)),
    )


def _entry_column(of: _Explained, dialect: str) -> EntryColumn:
    name = of.column.name
    if of.is_plain:
        return EntryColumn(name=name, source=name)
    source = FILL_IN if of.derivation is None else of.derivation.expression
    # A database must be told the type of what it computes; Spark knows.
    declared = of.column.type if dialect != "spark" else None
    return EntryColumn(name=name, source=source, is_expression=True, type=declared)


def _why(relation: FoundRelation, explained: Sequence[_Explained], named: bool, remark: str) -> str:
    reasons = ["named after the table" if named else "all its columns follow from the table's"]
    if all(of.is_plain for of in explained) and not named:
        reasons = ["has only columns of the table, and its key"]
    for of in explained:
        if of.derivation is not None and not of.is_plain:
            reasons.append(f"{of.column.name} is {of.derivation.expression} in all rows looked at")
    if relation.left_out:
        reasons.append(f"not compared: {', '.join(relation.left_out)}")
    if remark:
        reasons.append(remark)
    return "; ".join(reasons)


def _to_fill_in(
    table: FoundRelation, explained: Sequence[_Explained], where: str | None
) -> Iterator[str]:
    for of in explained:
        if of.derivation is None:
            yield (
                f"how {of.column.name} ({of.column.type}) is computed from a row of {table.name}; "
                "without the column, it is not compared"
            )
    if where == FILL_IN:
        yield f"which rows of {table.name} have an entry; leave `where` out if all have"


def _coverage(
    relation: FoundRelation, table: FoundRelation, key: Sequence[_Explained]
) -> tuple[str | None, Nulls, str]:
    """The condition, what becomes of NULLs, and what to remark about the number of entries."""
    entries, rows = relation.rows_counted, table.rows_counted
    if entries is None or not rows or entries >= rows:
        return None, Nulls.KEEP, ""
    remark = f"{entries:,} entries for {rows:,} rows"
    share = _share_without_null(table, key)
    if share is not None and share < 1 and abs(share - entries / rows) <= _NULLS_TOLERANCE:
        return None, Nulls.SKIP, f"{remark}, as many as have no NULL in its key"
    if entries / rows < _PARTIAL_SHARE_MAX:
        return FILL_IN, Nulls.KEEP, f"{remark}, so it covers only some"
    return None, Nulls.KEEP, remark


def _share_without_null(table: FoundRelation, key: Sequence[_Explained]) -> float | None:
    """How many of the rows looked at have a value in each indexed column."""
    sources = [of.derivation.column for of in key if of.derivation is not None]
    if len(sources) < len(key) or not table.sample.num_rows:
        return None
    known = pa.array([True] * table.sample.num_rows)
    for name in sources:
        known = pc.and_(known, table.sample.column(name).is_valid())
    return float(pc.sum(known).as_py() / table.sample.num_rows)


def _index_name(relation: str, table: str) -> str:
    rest = relation.removeprefix(f"{table}_").lstrip("_")
    return relation if problem_of(rest) else rest


def _contradicts(
    relation: FoundRelation, table: FoundRelation, primary_key: tuple[str, ...], columns: list[str]
) -> bool:
    """Whether the samples show another thing that merely has columns of the same names."""
    if relation.rows and table.rows and relation.rows > _ROWS_RATIO_MAX * table.rows:
        return True
    if not (relation.sample.num_rows and table.sample.num_rows):
        return False
    wanted = [*primary_key, *columns]
    entries = {row[: len(primary_key)]: row for row in _rows(relation.sample, wanted)}
    pairs = [
        (entries[row[: len(primary_key)]], row)
        for row in _rows(table.sample, wanted)
        if row[: len(primary_key)] in entries
    ]
    agreeing = sum(entry == row for entry, row in pairs)
    return len(pairs) >= MATCHES_MIN and 2 * agreeing < len(pairs)


def _rows(sample: pa.Table, names: list[str]) -> Iterator[tuple[object, ...]]:
    return zip(*(sample.column(name).to_pylist() for name in names), strict=True)
