# SPDX-License-Identifier: Apache-2.0
"""Guesses which relation is an index of which table, and how its columns follow from the rows.

A wrong guess must not lead to a check that compares the wrong thing and reports it clean. So an
unexplained column becomes an expression to fill in, and an index with fewer entries than rows gets
a condition to fill in. A catalog with such a placeholder is refused until somebody fills it in.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scrub.app.catalog_init.derivations import MATCHES_MIN, Derivation, Matched, rows_of
from scrub.app.catalog_init.discovery import FoundRelation
from scrub.catalog.names import problem_of
from scrub.catalog.placeholders import FILL_IN
from scrub.model.entry_shape import MARK
from scrub.model.table import Column, EntryColumn, Index, Nulls
from scrub.model.types import widens

_ROWS_RATIO_MAX = 2
_PARTIAL_SHARE_MAX = 0.9  # an index with more entries lacks some, rather than covers fewer rows
_NULLS_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexGuess:
    """How a relation could be an index of a table, and why."""

    index: Index
    why: str
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
    """How a relation could be an index of a table; None if it does not look like one.

    One that is named after the table is its index even if most of its entries are wrong: that is
    for the check to find, and described as a table of its own it would be compared with nothing.
    """
    if why_no_index(relation, table, primary_key):
        return None
    shared = _shared(relation, table)
    beside_key = _beside_key(relation, primary_key)
    named = is_named_after(relation.name, table.name)
    plain = [column.name for column in beside_key if column.name in shared]
    if not named and _contradicts(relation, table, primary_key, plain):
        return None
    matched = Matched.of(table, relation, primary_key, dialect)
    explained = [_explain(column, shared, matched, table) for column in beside_key]
    derived = all(of.derivation for of in explained) and len(relation.columns) < len(table.columns)
    if not (named or derived):
        return None
    differing = [
        f"{of.column.name} differs from the table's in most rows looked at"
        for of in explained
        if of.is_plain and matched.differs_mostly(of.column.name)
    ]
    return _guess(relation, table, primary_key, explained, named, dialect, differing)


def is_named_after(relation: str, table: str) -> bool:
    """Whether a relation has the name that an index of the table has unless told otherwise."""
    return relation.startswith(f"{table}__")


def why_no_index(
    relation: FoundRelation, table: FoundRelation, primary_key: tuple[str, ...]
) -> str | None:
    """What a relation lacks to be an index of a table; None if it lacks nothing."""
    types = relation.types
    shared = _shared(relation, table)
    for name in primary_key:
        if name not in types:
            return f"it has no column {name}, which is in the primary key of {table.name}"
        if name not in shared:
            return f"its column {name} is of type {types[name]}, which is not that of {table.name}"
    if not _beside_key(relation, primary_key):
        return f"it has no column beside the primary key of {table.name}"
    return None


def _shared(relation: FoundRelation, table: FoundRelation) -> frozenset[str]:
    """The columns of a relation that the table has under the same name, of a type that fits."""
    types = table.types
    return frozenset(
        column.name
        for column in relation.columns
        if column.name in types and widens(column.type, types[column.name])
    )


def _beside_key(relation: FoundRelation, primary_key: tuple[str, ...]) -> list[Column]:
    own = (*primary_key, MARK)  # the mark is there only while the index is being built
    return [column for column in relation.columns if column.name not in own]


def _explain(
    column: Column, shared: frozenset[str], matched: Matched, table: FoundRelation
) -> _Explained:
    if column.name not in shared:
        return _Explained(column, matched.explain(column, table.columns))
    plain = Derivation("", column.name)
    if matched.differs_mostly(column.name):
        return _Explained(column, matched.explain(column, table.columns) or plain)
    return _Explained(column, plain)


def _guess(
    relation: FoundRelation,
    table: FoundRelation,
    primary_key: tuple[str, ...],
    explained: Sequence[_Explained],
    named: bool,
    dialect: str,
    differing: Sequence[str],
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
        index=Index(
            name=_index_name(relation.name, table.name),
            store=relation.store,
            relation=relation.relation,
            key=tuple(_entry_column(of, own_dialect) for of in key),
            suffix=(),
            stored=tuple(_entry_column(of, own_dialect) for of in stored),
            where=where,
            nulls=nulls,
            dialect=own_dialect,
        ),
        why=_why(relation, explained, named, (*differing, remark)),
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


def _why(
    relation: FoundRelation,
    explained: Sequence[_Explained],
    named: bool,
    remarks: Sequence[str],
) -> str:
    reasons = ["named after the table" if named else "all its columns follow from the table's"]
    if all(of.is_plain for of in explained) and not named:
        reasons = ["has only columns of the table, and its key"]
    for of in explained:
        if of.derivation is not None and not of.is_plain:
            reasons.append(f"{of.column.name} is {of.derivation.expression} in all rows looked at")
    if relation.left_out:
        reasons.append(f"not compared: {', '.join(relation.left_out)}")
    return "; ".join([*reasons, *filter(None, remarks)])


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
    entries = {row[: len(primary_key)]: row for row in rows_of(relation.sample, wanted)}
    pairs = [
        (entries[row[: len(primary_key)]], row)
        for row in rows_of(table.sample, wanted)
        if row[: len(primary_key)] in entries
    ]
    agreeing = sum(entry == row for entry, row in pairs)
    return len(pairs) >= MATCHES_MIN and 2 * agreeing < len(pairs)
